# parties: one non-recursive Makefile.  `make help` lists the targets.
#
#   V=1            show commands          SAN=address,undefined   sanitizers (its own build folder)
#   CC=clang       the other compiler     BUILD=dir               where everything goes
#
# New .c files are found by folder: metrics/ -> libebee, policies/ and controller/ -> parties,
# experiments/<program>/ -> build/<program>, tests/unit/test_X.c -> build/tests/test_X.

CC      ?= gcc
CLANG   ?= clang
OBJCOPY ?= objcopy
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGCONF ?= pkg-config
comma   := ,
san_tag := $(if $(SAN),-san)
cc_tag  := $(if $(findstring clang,$(CC)),-clang)
BUILD   ?= build$(cc_tag)$(san_tag)
Q       := $(if $(V),,@)
nr_cpus  := $(shell nproc)
say      = @printf '  %-7s %s\n' $(1) $(2)

PREFIX  ?= /usr/local
VERSION := 0.1.0

# --- what has to be there -------------------------------------------------------------------------------------------
PACKAGES_BUILD := gcc clang llvm make bpftool pkg-config libbpf-dev libelf-dev zlib1g-dev libcpupower-dev \
	libcgroup-dev libinih-dev libjansson-dev libmicrohttpd-dev libgrpc-dev libcmocka-dev
PACKAGES_RUN   := memcached nginx-light gnuplot-nox librsvg2-bin iproute2 mandoc
PACKAGES_TEST  := qemu-system-x86 acpica-tools busybox-static cpio xz-utils libclang-rt-14-dev g++ git procps \
	python3 systemd libssl-dev redis-server nghttp2-server nghttp2-client libevent-dev
PACKAGES       := $(PACKAGES_BUILD) $(PACKAGES_RUN) $(PACKAGES_TEST)
PACKAGES_ACCURACY := redis-server golang-go golang-google-grpc-dev nodejs
# Of the packages in $(1), those that dpkg does not have; on another system we cannot know.
missing = $(if $(shell command -v dpkg-query),$(filter-out $(shell dpkg-query -W \
	-f='$${db:Status-Abbrev}:$${Package}\n' $(1) 2>/dev/null | sed -n 's/^ii *://p'),$(1)))

# --- flags ----------------------------------------------------------------------------------------------------------
LIBS_EBEE    := libbpf libelf
LIBS_PARTIES := inih jansson libmicrohttpd
CPPFLAGS += -D_GNU_SOURCE -DPARTIES_VERSION='"$(VERSION)"' -I. -Ibpf -Imetrics -Ipolicies -Icontroller -I$(BUILD) -I$(BUILD)/bpf
CFLAGS   ?= -O2 -g
WARN     := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
	-Wvla -Wformat=2 -Wno-missing-field-initializers $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
COMPILE   = $(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) $(SANFLAGS) -fPIC -MMD -MP
LINK      = $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS)
LDLIBS_EBEE    = $(shell $(PKGCONF) --libs $(LIBS_EBEE))
LDLIBS_PARTIES = $(shell $(PKGCONF) --libs $(LIBS_PARTIES)) -lcgroup -lcpupower $(LDLIBS_EBEE) -lm
BPFFLAGS = -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) -Ibpf \
	-isystem /usr/include/$(shell gcc -print-multiarch) -MMD -MP

# --- sources --------------------------------------------------------------------------------------------------------
bpf_src  := $(wildcard bpf/*.bpf.c)
skels    := $(bpf_src:bpf/%.bpf.c=$(BUILD)/bpf/%.skel.h)
obj       = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
ebee_o   := $(call obj,metrics/*.c)
policy_o := $(call obj,policies/*.c)
main_o   := $(BUILD)/controller/main.o
control_o := $(filter-out $(main_o),$(call obj,controller/*.c))
plant_o  := $(call obj,experiments/plant/*.c experiments/oracle/*.c experiments/common/profile.c)

# Calls about files, which controller/ makes by way of inject_calls.c, so that `parties --inject` reaches every one.
injected := open openat read pread write pwrite ftruncate fsync fdatasync fopen fdopen stat access faccessat opendir readdir \
	getdents64 readlink readlinkat mkdir rmdir unlink rename
inject    = $(if $(filter-out controller/inject_calls.c,$(filter controller/%,$(1))),$(OBJCOPY) \
	$(foreach f,$(injected),--redefine-sym $f=inject_$f) $(2),:)

# Programs of experiments/: every folder with a main.c; what each links beside its own objects.
programs := $(patsubst experiments/%/main.c,%,$(wildcard experiments/*/main.c))
libs_hotel-search := -lgrpc -lgpr -lm -lpthread
libs_ebee-watch := -lbpf -lelf -lz
libs_naive := -lbpf -lelf -lz
libs_plant-check = $(LDLIBS_PARTIES)
libs_parties-load := -lgrpc -lgpr -ljansson -lm -lpthread
program_o = $(patsubst %.c,$(BUILD)/%.o,$(wildcard experiments/$(1)/*.c experiments/common/*.c))

unit_tests := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
bpf_tests  := $(patsubst tests/bpf/%.c,$(BUILD)/tests/%,$(wildcard tests/bpf/*.c))
cost_programs := $(patsubst experiments/cost/%.c,$(BUILD)/cost/%,$(wildcard experiments/cost/*.c))
studies    := $(patsubst %,$(BUILD)/%,mixes emu fig8)
fuzzers    := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# Objects that may call nothing but each other and these (no I/O, clock, logging, allocation).
pure_o  := $(policy_o) $(patsubst %,$(BUILD)/controller/%.o,cpulist allocation qos judge totals view nearest feedback benefit \
	sensor_wave schemata ladder effective) $(BUILD)/experiments/oracle/score.o $(patsubst %,$(BUILD)/metrics/%.o,window rolling choose)
pure_ok := memcpy|memset|memmove|memcmp|bcmp|memchr|strcmp|strlen|strchr|exp|log|sqrt|abort|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps objects demo accuracy check check-all check-cases check-faults check-vm cost figures fit plant-check sim purity clean help install tests fuzzers sanitized warned

all: $(BUILD)/parties $(BUILD)/libebee.a $(BUILD)/libebee.so $(programs:%=$(BUILD)/%) $(BUILD)/purity

help:
	@echo 'all (default)  build everything under $(BUILD)/'
	@echo 'deps           install the Debian packages that are missing (as root)'
	@echo 'demo           the main job on real services: load ramp, controller, figure (as root)'
	@echo 'check          build and pass every test          check-all   the same with the full numbers'
	@echo 'check-cases    request patterns that are hard to measure: what is right, declared or wrong (as root)'
	@echo 'check-faults   what goes wrong on real machines: how it is injected, what is expected, what is seen, as a table'
	@echo '               (VM=1: in the virtual machine, too; FAULT=word: only those)'
	@echo 'check-vm       the tests on an emulated server with P-states, and without a cpuset, locked down, without BTF, and under systemd'
	@echo 'cost           what observing costs, against goals and against descriptor pairing, as a table (as root)'
	@echo 'accuracy       latency and counts of real services, from the kernel beside their clients: table and figure (as root)'
	@echo 'fit            the simulated queue beside real servers: fitted at some loads, predicted at others (as root)'
	@echo 'plant-check    the simulated machine against queueing theory and the published services, and its speed'
	@echo 'sim            the controller on a simulated machine, no rights needed'
	@echo 'figures        all policies on the simulated machine, beside an oracle: Figures 7 to 11, experiments/RESULTS.md'
	@echo 'install        into PREFIX (default $(PREFIX))    clean       remove build folders'

ifeq ($(shell command -v $(CC) >/dev/null && command -v $(CLANG) >/dev/null && command -v $(BPFTOOL) >/dev/null && \
	$(PKGCONF) --exists $(LIBS_EBEE) $(LIBS_PARTIES) grpc cmocka && test -e /usr/include/libcgroup.h -a -e /usr/include/cpufreq.h && \
	echo yes),)
ifeq ($(filter deps help clean demo accuracy check check-all check-faults check-vm figures fit plant-check sim,$(MAKECMDGOALS)),)
$(error the build needs: $(or $(call missing,$(PACKAGES_BUILD)),$(PACKAGES_BUILD)). As root, `make deps` installs it on Debian)
endif
endif

# WANT: which packages.  policy-rc.d keeps their services from starting: we want memcached's program, not its daemon.
WANT ?= $(PACKAGES)
deps:
	@set -e; missing="$(call missing,$(WANT))"; \
	if [ -z "$$missing" ]; then echo 'deps: everything is installed'; exit 0; fi; \
	echo "deps: missing: $$missing"; \
	if [ "$$(id -u)" != 0 ]; then echo 'deps: not root; run as root: make deps' >&2; exit 3; fi; \
	apt-get update -qq; \
	if [ ! -e /usr/sbin/policy-rc.d ]; then \
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT; \
		printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; \
	fi; \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing

# Installs what is missing of $(1) when it may, so that one command is enough on a fresh machine; otherwise says so and
# goes on with what is there.
ensure = @missing="$(call missing,$(1))"; if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ]; then $(MAKE) --no-print-directory deps WANT="$$missing"; \
	else echo "not root, so these packages stay missing: $$missing"; fi

# --- BPF ------------------------------------------------------------------------------------------------------------
$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPFFLAGS) -MT $@ -c $< -o $@

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$(@F))
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# --- host -----------------------------------------------------------------------------------------------------------
$(BUILD)/%.o: %.c | $(skels)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c $< -o $@
	$(Q)$(call inject,$<,$@)

# The page of `run --web` as a C string.
$(BUILD)/web_page.inc: controller/web_page.html
	$(call say,PAGE,$<)
	@mkdir -p $(@D)
	$(Q)sed 's/\\/&&/g; s/"/\\"/g; s/.*/"&\\n"/' $< > $@
$(BUILD)/controller/live.o: $(BUILD)/web_page.inc
$(call obj,controller/*.c): controller/inject_calls.h

$(BUILD)/libebee.a: $(ebee_o)
	$(call say,AR,$(@F))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(BUILD)/libebee.so: $(ebee_o) metrics/libebee.map
	$(call say,LD,$(@F))
	$(Q)$(LINK) -shared -Wl,-soname,libebee.so.0 -Wl,--version-script=metrics/libebee.map $(ebee_o) $(LDLIBS_EBEE) -o $@

$(BUILD)/libparties.a: $(policy_o) $(control_o) $(plant_o)
	$(call say,AR,$(@F))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(BUILD)/parties: $(main_o) $(BUILD)/libparties.a $(BUILD)/libebee.a
	$(call say,LD,$(@F))
	$(Q)$(LINK) $^ $(LDLIBS_PARTIES) -o $@

define program_rule
$(BUILD)/$(1): $$(call program_o,$(1))
	$$(call say,LD,$$(@F))
	$$(Q)$$(LINK) $$^ $$(libs_$(1)) -lm -lpthread -o $$@
endef
$(foreach p,$(programs),$(eval $(call program_rule,$(p))))

$(BUILD)/ebee-watch: $(BUILD)/libebee.a
$(BUILD)/plant-check: $(BUILD)/libparties.a $(BUILD)/libebee.a

$(BUILD)/purity: $(pure_o)
	$(call say,PURE,'$(words $^) objects')
	$(Q)allowed='^($(pure_ok))$$'; defined=$$(nm --defined-only $^ | awk 'NF==3 {print $$3}' | sort -u); \
	bad=$$(nm -u $^ | awk 'NF==2 && $$1=="U" {print $$2}' | sort -u | grep -vxF "$$defined" | grep -vE "$$allowed" \
		| grep -vE '^__(asan|ubsan|sanitizer)_'); \
	if [ -n "$$bad" ]; then echo "purity: not allowed in pure files:" $$bad >&2; exit 1; fi; touch $@
purity: $(BUILD)/purity

# Every C file of the host by itself, for a compiler's opinion; the unit tests are one each already.
$(BUILD)/tests/%.o: CPPFLAGS += -Itests
$(BUILD)/tests/%.o: SANFLAGS += $(quick)
objects: $(unit_tests) $(call obj,metrics/*.c policies/*.c controller/*.c experiments/*/*.c tests/bpf/*.c tests/cases/*.c \
	tests/cases/common/*.c)

# --- tests ----------------------------------------------------------------------------------------------------------
# With sanitizers it takes longer to build a test well than to run it.
quick = $(if $(SAN),-O0)
LDLIBS_TEST = $(shell $(PKGCONF) --libs cmocka) $(LDLIBS_PARTIES)
# A test that replaces a library function names it on a line "wrap: f g h" in its first comment.
wraps = $(patsubst %,-Wl$(comma)--wrap=%,$(shell sed -n 's/^ \* wrap: //p' $(1)))
$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libparties.a $(BUILD)/libebee.a | $(skels)
	$(call say,TEST,$(@F))
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(quick) -MT $@ -MF $@.d -Itests $< $(filter %.o,$^) $(call wraps,$<) $(LDFLAGS) $(BUILD)/libparties.a $(BUILD)/libebee.a $(LDLIBS_TEST) -o $@
$(BUILD)/tests/%: tests/bpf/%.c $(BUILD)/libparties.a $(BUILD)/libebee.a | $(skels)
	$(call say,TEST,$(@F))
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(quick) -MT $@ -MF $@.d -Itests $< $(LDFLAGS) $(BUILD)/libparties.a $(BUILD)/libebee.a $(LDLIBS_TEST) -lpthread -o $@
tests: $(unit_tests) $(bpf_tests) $(cost_programs) $(studies) $(BUILD)/predict

# Programs of hard cases: one per file of tests/cases, each with everything in tests/cases/common.
cases := $(patsubst tests/cases/%.c,$(BUILD)/cases/%,$(wildcard tests/cases/*.c))
cases_o := $(call obj,tests/cases/common/*.c)
$(BUILD)/cases/%: $(BUILD)/tests/cases/%.o $(cases_o)
	$(call say,CASES,$(@F))
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ -ljansson -lssl -lcrypto -lgrpc -lgpr -lpthread -o $@
check-cases: $(cases) $(BUILD)/parties $(BUILD)/naive $(BUILD)/hotel-search $(BUILD)/parties-load
	$(Q)BUILD=$(BUILD) tests/cases/run

# Measurements of `make cost`: a program per file of experiments/cost, and the script that runs them.
$(BUILD)/cost/%: $(BUILD)/experiments/cost/%.o $(call obj,experiments/common/number.c policies/rng.c) $(BUILD)/libebee.a
	$(call say,COST,$(@F))
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LDLIBS_EBEE) -lm -lpthread -o $@
cost:
	$(call ensure,$(PACKAGES_BUILD) memcached nginx-light)
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all $(cost_programs)
	$(Q)BUILD=$(BUILD) experiments/cost/run

# Sanitizers: of clang, whose see more than gcc's and which libFuzzer needs; one build of warnings too, for all three.
# Coverage takes time: only what fuzzers feed has it.
sanitized = $(Q)mkdir -p $(BUILD)/san; flock $(BUILD)/san $(MAKE) --no-print-directory CC=$(CLANG) SAN=address,undefined COVERAGE=1 \
	WERROR=1 CFLAGS='-O1 -g1' BUILD=$(BUILD)/san
ifneq ($(COVERAGE),)
$(control_o) $(BUILD)/experiments/common/profile.o: SANFLAGS += -fsanitize=fuzzer-no-link
endif
$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/libparties.a $(BUILD)/libebee.a
	$(call say,FUZZ,$(@F))
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -fsanitize=fuzzer -MT $@ -MF $@.d $< $(BUILD)/libparties.a $(BUILD)/libebee.a $(LDLIBS_PARTIES) -o $@
fuzzers:
	$(sanitized) $(fuzzers:$(BUILD)/%=$(BUILD)/san/%)
sanitized:
	$(sanitized) $(unit_tests:$(BUILD)/%=$(BUILD)/san/%)
warned:
	$(sanitized) objects

# Warnings are errors here, and nowhere else: another compiler may know more of them.
check check-all:
	$(call ensure,$(PACKAGES))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) WERROR=1 all tests
	$(Q)BUILD=$(BUILD) tests/run $(if $(filter check-all,$@),--all)

check-faults:
	$(call ensure,$(PACKAGES))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all tests
	$(Q)BUILD=$(BUILD) tests/faults/check $(if $(VM),--vm) $(FAULT)

check-vm:
	$(call ensure,$(PACKAGES))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all tests
	$(Q)BUILD=$(BUILD) tests/vm/vm.sh guest-tests guest-faults lockdown no-cpuset no-btf systemd

demo:
	$(call ensure,$(PACKAGES_BUILD) $(PACKAGES_RUN))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all
	$(Q)BUILD=$(BUILD) experiments/fig11/demo

# A Go server of Debian's packages, which are a GOPATH.
$(BUILD)/search-go: experiments/accuracy/servers/search.go
	$(call say,GO,$(@F))
	@mkdir -p $(@D)
	$(Q)GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(abspath $(BUILD))/gocache go build -o $@ $<

# A server that cannot be had is left out, and said.
accuracy:
	$(call ensure,$(PACKAGES_BUILD) $(PACKAGES_RUN) $(PACKAGES_ACCURACY))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all $$(command -v go >/dev/null && echo $(BUILD)/search-go)
	$(Q)BUILD=$(BUILD) experiments/accuracy/run

# What policies are worth on the simulated machine, beside what nobody who steers can know.
study_o := $(patsubst %,$(BUILD)/experiments/policies/%.o,study trial)
$(studies): $(study_o)
$(studies): $(BUILD)/%: $(BUILD)/experiments/policies/%.o $(BUILD)/libparties.a $(BUILD)/libebee.a
	$(call say,LD,$(@F))
	$(Q)$(LINK) $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS_PARTIES) -o $@
# What is known to be valid stays so until one of these changes.
valid_src := $(wildcard experiments/plant/*.[ch]) experiments/oracle/valid.c experiments/oracle/valid.h \
	controller/judge.c policies/rng.c
$(BUILD)/experiments/policies/study.o: CPPFLAGS += -DVALID_SOURCES='"$(shell cat $(valid_src) | cksum | cut -d" " -f1)"'
$(BUILD)/experiments/policies/study.o: $(valid_src)
# Likewise what an oracle has found.
oracle_src := $(valid_src) $(wildcard experiments/oracle/levels.[ch] controller/totals.[ch])
$(BUILD)/experiments/oracle/levels.o: CPPFLAGS += -DORACLE_SOURCES='"$(shell cat $(oracle_src) | cksum | cut -d" " -f1)"'
$(BUILD)/experiments/oracle/levels.o: $(oracle_src)
# How well the simulated queue describes real servers.
$(BUILD)/predict: $(BUILD)/experiments/fit/predict.o $(BUILD)/libparties.a $(BUILD)/libebee.a
	$(call say,LD,$(@F))
	$(Q)$(LINK) $^ $(LDLIBS_PARTIES) -o $@
fit:
	$(call ensure,$(PACKAGES_BUILD) $(PACKAGES_RUN))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) all $(BUILD)/predict
	$(Q)BUILD=$(BUILD) experiments/fit/run

figures:
	$(call ensure,$(PACKAGES_BUILD) gnuplot-nox)
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) $(BUILD)/parties $(studies)
	$(Q)BUILD=$(BUILD) experiments/figures/run $(ARGS)

# Is the simulated machine what theory says?  Minutes.
plant-check:
	$(call ensure,$(PACKAGES_BUILD))
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) $(BUILD)/plant-check
	$(Q)$(BUILD)/plant-check

sim:
	$(call ensure,$(PACKAGES_BUILD) gnuplot-nox)
	$(Q)$(MAKE) --no-print-directory -j$(nr_cpus) $(BUILD)/parties
	$(Q)BUILD=$(BUILD) experiments/fig11/sim

clean:
	$(Q)rm -rf build build-clang build-san build-clang-san

install: all
	install -D -m 755 $(BUILD)/parties $(DESTDIR)$(PREFIX)/bin/parties
	install -D -m 644 $(BUILD)/libebee.a $(DESTDIR)$(PREFIX)/lib/libebee.a
	install -D -m 755 $(BUILD)/libebee.so $(DESTDIR)$(PREFIX)/lib/libebee.so.0
	ln -sf libebee.so.0 $(DESTDIR)$(PREFIX)/lib/libebee.so
	install -D -m 644 metrics/ebee.h $(DESTDIR)$(PREFIX)/include/ebee.h
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' metrics/ebee.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/ebee.pc
	install -D -m 644 metrics/libebee.3 $(DESTDIR)$(PREFIX)/share/man/man3/libebee.3
	install -D -m 644 controller/man/parties.conf.5 $(DESTDIR)$(PREFIX)/share/man/man5/parties.conf.5
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' controller/parties.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/parties.service
	for m in controller/man/*.1; do install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man1/$${m##*/}; done

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

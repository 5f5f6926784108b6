// SPDX-License-Identifier: GPL-2.0
// http.js - Node's own HTTP server: keep-alive, 100 bytes per answer.  Usage: node http.js PORT
'use strict';
const http = require('http');

const body = 'x'.repeat(100);

http.createServer((request, response) => {
	response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': body.length });
	response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1', 4096);

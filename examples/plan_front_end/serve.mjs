// Serves a page that draws a plan, and draws it anew whenever it changes: node serve.mjs [PORT]
// The page asks the service itself, which has to allow its origin: STRATAGRAPH_CORS_ORIGINS=http://127.0.0.1:8080

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("./", import.meta.url);
const TYPES = { html: "text/html", mjs: "text/javascript", js: "text/javascript" };

const server = createServer(({ url }, response) => {
  const { pathname } = new URL(url, "http://127.0.0.1");
  const file = new URL(pathname === "/" ? "./index.html" : `.${pathname}`, FOLDER);
  const type = TYPES[file.pathname.split(".").at(-1)];
  const isFile = file.href.startsWith(FOLDER.href) && statSync(file, { throwIfNoEntry: false })?.isFile();
  if (!type || !isFile) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": `${type}; charset=utf-8` });
  createReadStream(fileURLToPath(file)).pipe(response);
});
server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));

// A static server for the page and a loopback stand-in for the hub, both on free ports.
import {createServer} from 'node:http';
import {readFile, stat} from 'node:fs/promises';
import {extname, join, normalize} from 'node:path';

const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.mjs': 'text/javascript',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

function listen(server) {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)),
  );
}

async function firstFile(folders, path) {
  for (const folder of folders) {
    const file = join(folder, path);
    const found = await stat(file).catch(() => null);
    if (found?.isFile()) return file;
  }
  return null;
}

// Serves `folders` below `prefix`, the first folder that has a file wins. `hidden` paths are not found.
export async function servePage({folders, prefix = '/', hidden = []}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://page').pathname));
    asked.push(path);
    const inside = path.startsWith(prefix) ? path.slice(prefix.length) : null;
    if (path === '/frame.html') {
      response.writeHead(200, {'Content-Type': 'text/html'});
      const asked = new URL(request.url, 'http://page').searchParams;
      const sandbox = asked.has('sandbox') ? ' sandbox="allow-scripts"' : '';
      response.end(
        `<!doctype html><title>frame</title><iframe title="page"${sandbox} width="900" height="1400" src="${asked.get('src')}"></iframe>`,
      );
      return;
    }
    const file =
      inside === null ? null : await firstFile(folders, inside === '' ? 'index.html' : inside);
    if (file === null || hidden.some((name) => path.endsWith(name))) {
      response.writeHead(404, {'Content-Type': 'text/plain'});
      response.end('no such file');
      return;
    }
    // A sandboxed frame has an origin of its own, and asks for modules as from elsewhere.
    response.writeHead(200, {
      'Content-Type': kTypes[extname(file)] ?? 'application/octet-stream',
      'Cache-Control': 'no-store',
      'Access-Control-Allow-Origin': '*',
    });
    response.end(request.method === 'HEAD' ? undefined : await readFile(file));
  });
  const origin = await listen(server);
  return {url: origin + prefix, origin, asked, close: () => server.close()};
}

const kCommit = '0123456789abcdef0123456789abcdef01234567';

// The answers of a real hub, as a page from elsewhere sees them.
export async function serveHub({configs}) {
  const asked = [];
  const state = {delay: 0, limited: false};
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://hub').pathname);
    asked.push({
      path,
      authorization: request.headers.authorization,
      referrer: request.headers.referer,
      cookie: request.headers.cookie,
    });
    const common = {
      'Access-Control-Allow-Origin': request.headers.origin ?? '*',
      Vary: 'Origin',
      'X-Request-Id': 'Root=1-fake',
      'Access-Control-Expose-Headers':
        'X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,ETag,Link',
    };
    const answer = (status, headers, body) => {
      response.writeHead(status, {...common, ...headers});
      response.end(body);
    };
    const refuse = (status, code, text) => answer(status, code ? {'X-Error-Code': code} : {}, text);
    if (state.delay > 0) await new Promise((resolve) => setTimeout(resolve, state.delay));
    if (state.limited) return refuse(429, '', 'rate limited');
    const cached = /^\/api\/resolve-cache\/models\/(.+)\/[0-9a-f]{40}\/config\.json$/.exec(path);
    if (cached)
      return answer(
        200,
        {'Content-Type': 'application/json', 'X-Repo-Commit': kCommit},
        configs[cached[1]],
      );
    const found = /^\/(.+)\/resolve\/(.+)\/config\.json$/.exec(path);
    if (!found) return refuse(404, '', 'Not Found');
    const [, id, revision] = found;
    if (id === 'org/gated')
      return refuse(401, 'GatedRepo', 'Access to model org/gated is restricted.');
    if (id === 'org/disabled')
      return answer(403, {'X-Error-Message': 'Access to this resource is disabled.'}, '');
    if (id === 'org/broken') return refuse(503, '', 'Service Unavailable');
    if (id === 'org/sign-in')
      return answer(200, {'Content-Type': 'text/html'}, '<!doctype html><title>Sign in</title>');
    if (id === 'org/no-config') return refuse(404, 'EntryNotFound', 'Entry not found');
    if (id === 'old-name')
      return answer(307, {Location: `/org/renamed/resolve/${revision}/config.json`});
    if (configs[id] === undefined) return refuse(401, '', 'Invalid username or password.');
    if (revision !== 'main' && revision !== kCommit)
      return refuse(404, 'RevisionNotFound', 'Invalid rev id');
    return answer(307, {
      Location: `/api/resolve-cache/models/${id}/${kCommit}/config.json`,
      'X-Repo-Commit': kCommit,
    });
  });
  const url = await listen(server);
  return {url, asked, state, close: () => server.close()};
}

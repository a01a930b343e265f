import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const UI_PREFIX = '/ui/'
const YEAR_SECONDS = 31_536_000

/**
 * Allows resources of this server only. The editor and the terminal create style elements, so
 * inline styles are allowed; inline scripts are not.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Serves the web UI below `/ui`: files from memory, and its single page for every other path.
 * Without a folder a page reports that the UI is not installed. `/` redirects browsers to the UI,
 * and programs to `/docs`.
 */
export function mountUi(app: FastifyInstance, folder: string | undefined): void {
  // Read on first use: it does not slow down the start, and may be built later.
  let files: ReadonlyMap<string, WebFile> | undefined
  app.get('/', ({ headers }, reply) =>
    reply.redirect(acceptsHtml(headers.accept) ? UI_PREFIX : '/docs', 307),
  )
  app.get('/ui', (_request, reply) => reply.redirect(UI_PREFIX, 307))
  app.get('/ui/*', (request, reply) => {
    if (folder !== undefined) files ??= readWebFiles(folder)
    void reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    return files === undefined ? sendMissing(reply) : sendFile(files, request, reply)
  })
}

/** Reports whether the client is a browser that opens a page, rather than a program. */
export function acceptsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|,)\s*text\/html\s*(?:;|,|$)/i.test(accept)
}

function sendFile(
  files: ReadonlyMap<string, WebFile>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const name = assetPath(request.url)
  // A missing asset must not be answered with the page; any other path is a state of the
  // application, which reads it from the URL.
  const file = files.get(name) ?? (isAsset(name) ? undefined : files.get('index.html'))
  if (file === undefined) return reply.code(404).type('text/plain; charset=utf-8').send('not found')
  void reply
    .type(file.contentType)
    .header('etag', file.etag)
    .header('vary', 'Accept-Encoding')
    .header(
      'cache-control',
      file.isImmutable ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
    )
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return sendEncoded(file, request.headers['accept-encoding'], reply)
}

function assetPath(url: string): string {
  const end = url.indexOf('?')
  return url.slice(UI_PREFIX.length, end === -1 ? undefined : end)
}

function isAsset(name: string): boolean {
  return name.startsWith('assets/')
}

function sendEncoded(
  { encoded, plain }: WebFile,
  accepted: string | string[] | undefined,
  reply: FastifyReply,
): FastifyReply {
  const header = String(accepted ?? '')
  const encoding = WEB_ENCODINGS.find(
    (one) => encoded[one] !== undefined && isAccepted(header, one),
  )
  if (encoding === undefined) return reply.send(plain)
  return reply.header('content-encoding', encoding).send(encoded[encoding])
}

/** The header names the encoding without a weight of zero (RFC 9110, Accept-Encoding). */
function isAccepted(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return name === encoding && !parameters.some((text) => /^q\s*=\s*0(?:\.0*)?$/.test(text))
  })
}

const MISSING_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Reeve: the web UI is missing</title></head><body>
<h1>The web UI is missing</h1>
<p>The server runs and its APIs answer; only these pages are missing. Every release contains them:
install Reeve again. In a source tree they have to be built first. Then reload this page. The
<a href="/docs">documentation of the APIs</a> is available without them.</p>
</body></html>`

function sendMissing(reply: FastifyReply): FastifyReply {
  return reply.code(503).type('text/html; charset=utf-8').send(MISSING_PAGE)
}

/** A file of the web UI, in each of its encodings. */
interface WebFile {
  readonly contentType: string
  readonly etag: string
  /** Whether its name contains a hash of its content, so that it can be cached forever. */
  readonly isImmutable: boolean
  readonly plain: Buffer
  /** Compressed by the build; missing if compression does not make it smaller. */
  readonly encoded: Readonly<Partial<Record<WebEncoding, Buffer>>>
}

/** Encodings in order of preference. */
const WEB_ENCODINGS = ['br', 'gzip'] as const
type WebEncoding = (typeof WEB_ENCODINGS)[number]

const SUFFIXES: Readonly<Record<WebEncoding, string>> = { br: '.br', gzip: '.gz' }

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Folder of the files whose names contain a hash; see packages/web/vite.config.ts. */
const HASHED_FOLDER = 'assets/'

/**
 * Reads the files of the built web UI, by their paths. Requests are answered from this table only,
 * so no path in a URL can reach other files. Undefined if the web UI was not built.
 */
function readWebFiles(folder: string): ReadonlyMap<string, WebFile> | undefined {
  const names = listFiles(folder)
  if (!names.includes('index.html')) return undefined
  const nameSet = new Set(names)
  const files = new Map<string, WebFile>()
  for (const name of names) {
    const contentType = CONTENT_TYPES[extname(name)]
    if (contentType !== undefined)
      files.set(name, readWebFile(folder, { name, contentType, allNames: nameSet }))
  }
  return files
}

interface FoundFile {
  readonly name: string
  readonly contentType: string
  readonly allNames: ReadonlySet<string>
}

function readWebFile(folder: string, { name, contentType, allNames }: FoundFile): WebFile {
  const plain = readFileSync(join(folder, name))
  const forms = WEB_ENCODINGS.filter((encoding) => allNames.has(name + SUFFIXES[encoding])).map(
    (encoding) => [encoding, readFileSync(join(folder, name + SUFFIXES[encoding]))] as const,
  )
  return {
    contentType,
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    isImmutable: name.startsWith(HASHED_FOLDER),
    plain,
    encoded: Object.fromEntries(forms),
  }
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

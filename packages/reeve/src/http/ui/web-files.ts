import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

/** A file of the web UI, in each of its encodings. */
export interface WebFile {
  readonly contentType: string
  readonly etag: string
  /** Whether its name contains a hash of its content, so that it can be cached forever. */
  readonly isImmutable: boolean
  readonly plain: Buffer
  /** Compressed by the build; missing if compression does not make it smaller. */
  readonly encoded: Readonly<Partial<Record<WebEncoding, Buffer>>>
}

/** Encodings in order of preference. */
export const WEB_ENCODINGS = ['br', 'gzip'] as const
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
export function readWebFiles(folder: string): ReadonlyMap<string, WebFile> | undefined {
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

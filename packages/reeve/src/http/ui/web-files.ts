import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

/** One file of the web UI, in every form in which it may be sent. */
export interface WebFile {
  readonly contentType: string
  readonly etag: string
  /** Whether its name holds the hash of its content, so that it may be kept for ever. */
  readonly isImmutable: boolean
  readonly plain: Buffer
  /** Made by the build; absent for what does not get smaller. */
  readonly encoded: Readonly<Partial<Record<WebEncoding, Buffer>>>
}

/** The best first. */
export const WEB_ENCODINGS = ['br', 'gzip'] as const
type WebEncoding = (typeof WEB_ENCODINGS)[number]

const SUFFIXES: Readonly<Record<WebEncoding, string>> = { br: '.br', gzip: '.gz' }

const TYPES: Readonly<Record<string, string>> = {
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

/** Names that the build gives to what it hashes; see packages/web/vite.config.ts. */
const HASHED_FOLDER = 'assets/'

/**
 * Every file of the built web UI by its path below the folder, read once. A request is answered
 * from this table alone: a path that is not in it does not exist, whatever it spells. Undefined
 * when the web UI was not built.
 */
export function readWebFiles(folder: string): ReadonlyMap<string, WebFile> | undefined {
  const names = listFiles(folder)
  if (!names.includes('index.html')) return undefined
  const known = new Set(names)
  const files = new Map<string, WebFile>()
  for (const name of names) {
    const contentType = TYPES[extname(name)]
    if (contentType !== undefined)
      files.set(name, readWebFile(folder, { name, contentType, known }))
  }
  return files
}

interface Found {
  readonly name: string
  readonly contentType: string
  readonly known: ReadonlySet<string>
}

function readWebFile(folder: string, { name, contentType, known }: Found): WebFile {
  const plain = readFileSync(join(folder, name))
  const forms = WEB_ENCODINGS.filter((encoding) => known.has(name + SUFFIXES[encoding])).map(
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

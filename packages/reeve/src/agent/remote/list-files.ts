import type { Stats } from 'node:fs'
import { lstat, opendir, type FileHandle } from 'node:fs/promises'
import { basename, normalize } from 'node:path'
import {
  LISTED_FILES_MAX,
  LISTED_NAME_CHARS_MAX,
  listedNameChars,
  type FileInfo,
} from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isMissing } from '../store/state-file.ts'
import { textOfName } from './file-names.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import { HIDDEN, usingFile, type OpenedFile } from './safe-open.ts'

/**
 * By name. Of a directory with very many entries only some, and one more than are shown: the server
 * tells by it that there are more (contract: LISTED_FILES_MAX).
 */
export async function listFiles(root: string, path: string): Promise<readonly FileInfo[]> {
  return await usingFile(root, path, async (directory) => {
    if (!directory.stats.isDirectory())
      throw new RemoteRefusal(400, `${JSON.stringify(path)} is not a directory`)
    const names = await namesIn(directory)
    const texts = new Set(names.map((name) => name.toString('utf8')))
    const infos: FileInfo[] = []
    let nameChars = 0
    for (const name of names) {
      const stats = await entryStats(directory.handle, name)
      if (stats === undefined) continue
      const text = textOfName(name, (other) => texts.has(other))
      infos.push(infoOf(text, stats))
      nameChars += listedNameChars(text)
      if (nameChars > LISTED_NAME_CHARS_MAX) break
    }
    return infos.toSorted((a, b) => compareText(a.Name, b.Name))
  })
}

export async function statFile(root: string, path: string): Promise<FileInfo> {
  // The name that was asked for, as the peers do: of a link it is not that of what it leads to.
  const name = basename(normalize(`/${path}`)) || '/'
  return await usingFile(root, path, async ({ handle, stats }) => {
    const info = infoOf(name, stats)
    return stats.isFile() ? { ...info, ContentType: await contentType(handle) } : info
  })
}

/** By the open directory, so that it is this one whatever its path has become. */
function placeOf(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`
}

async function namesIn({ handle, inside }: OpenedFile): Promise<readonly Buffer[]> {
  const isTaskDirectory = inside !== '' && inside !== 'alloc' && !inside.includes('/')
  const names: Buffer[] = []
  // With this encoding, which its type does not know, names are Buffers.
  const options = { encoding: 'buffer' as BufferEncoding }
  // Leaving the loop closes it.
  for await (const entry of await opendir(placeOf(handle), options)) {
    // As the encoding above says.
    const name = entry.name as unknown as Buffer
    if (names.length > LISTED_FILES_MAX) break
    if (!isTaskDirectory || !HIDDEN.has(name.toString('latin1'))) names.push(name)
  }
  return names
}

/** Of the entry itself, not of what it links to; undefined when it is gone by now. */
async function entryStats(directory: FileHandle, name: Buffer): Promise<Stats | undefined> {
  const path = Buffer.concat([Buffer.from(`${placeOf(directory)}/`), name])
  return await lstat(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined
    throw thrown
  })
}

function infoOf(name: string, stats: Stats): FileInfo {
  return {
    Name: name,
    IsDir: stats.isDirectory(),
    Size: stats.size,
    FileMode: modeText(stats),
    ModTime: stats.mtime.toISOString(),
  }
}

const KINDS: readonly (readonly [(stats: Stats) => boolean, string])[] = [
  [(stats) => stats.isDirectory(), 'd'],
  [(stats) => stats.isSymbolicLink(), 'L'],
  [(stats) => stats.isFIFO(), 'p'],
  [(stats) => stats.isSocket(), 'S'],
  [(stats) => stats.isCharacterDevice(), 'Dc'],
  [(stats) => stats.isBlockDevice(), 'D'],
]
const SPECIAL = [
  [0o4000, 'u'],
  [0o2000, 'g'],
  [0o1000, 't'],
] as const

/** As the peers write it: the kind and special bits, then three times `rwx`. */
export function modeText(stats: Stats): string {
  const kind = KINDS.find(([is]) => is(stats))?.[1] ?? ''
  const special = SPECIAL.filter(([bit]) => (stats.mode & bit) !== 0).map(([, letter]) => letter)
  const rights = Array.from('rwxrwxrwx', (letter, at) =>
    (stats.mode & (0o400 >> at)) === 0 ? '-' : letter,
  )
  return `${kind + special.join('') || '-'}${rights.join('')}`
}

const SNIFFED_BYTES = 512

/** Only whether a person can read it; what it is called says the rest. */
async function contentType(handle: FileHandle): Promise<string> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
  const isText = !buffer.subarray(0, bytesRead).includes(0)
  return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream'
}

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
import { displayNameOf } from './file-names.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import { PRIVATE_DIRS, withFile, type OpenedFile } from './safe-open.ts'

/**
 * Lists a directory by name. Of a huge directory it returns one entry more than is shown, which
 * tells the server that the list is truncated (contract: LISTED_FILES_MAX).
 */
export async function listFiles(root: string, path: string): Promise<readonly FileInfo[]> {
  return await withFile(root, path, async (directory) => {
    if (!directory.stats.isDirectory())
      throw new RemoteRefusal(400, `${JSON.stringify(path)} is not a directory`)
    const names = await readNames(directory)
    const utf8Names = new Set(names.map((name) => name.toString('utf8')))
    const infos: FileInfo[] = []
    let nameChars = 0
    for (const name of names) {
      const stats = await statEntry(directory.handle, name)
      if (stats === undefined) continue
      const displayName = displayNameOf(name, (other) => utf8Names.has(other))
      infos.push(fileInfoOf(displayName, stats))
      nameChars += listedNameChars(displayName)
      if (nameChars > LISTED_NAME_CHARS_MAX) break
    }
    return infos.toSorted((a, b) => compareText(a.Name, b.Name))
  })
}

export async function statFile(root: string, path: string): Promise<FileInfo> {
  // The requested name, as peers do: for a link not the name of its target.
  const name = basename(normalize(`/${path}`)) || '/'
  return await withFile(root, path, async ({ handle, stats }) => {
    const info = fileInfoOf(name, stats)
    return stats.isFile() ? { ...info, ContentType: await sniffContentType(handle) } : info
  })
}

/** Path through the open directory, which stays valid if the directory is moved. */
function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`
}

async function readNames({ handle, relativePath }: OpenedFile): Promise<readonly Buffer[]> {
  const isTaskDirectory =
    relativePath !== '' && relativePath !== 'alloc' && !relativePath.includes('/')
  const names: Buffer[] = []
  // With this encoding, which the type does not include, names are Buffers.
  const options = { encoding: 'buffer' as BufferEncoding }
  // Leaving the loop closes the directory.
  for await (const entry of await opendir(descriptorPath(handle), options)) {
    // As the encoding above says.
    const name = entry.name as unknown as Buffer
    if (names.length > LISTED_FILES_MAX) break
    if (!isTaskDirectory || !PRIVATE_DIRS.has(name.toString('latin1'))) names.push(name)
  }
  return names
}

/** Stats of the entry itself, not of a link target; undefined if it is gone. */
async function statEntry(directory: FileHandle, name: Buffer): Promise<Stats | undefined> {
  const path = Buffer.concat([Buffer.from(`${descriptorPath(directory)}/`), name])
  return await lstat(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined
    throw thrown
  })
}

function fileInfoOf(name: string, stats: Stats): FileInfo {
  return {
    Name: name,
    IsDir: stats.isDirectory(),
    Size: stats.size,
    FileMode: formatMode(stats),
    ModTime: stats.mtime.toISOString(),
  }
}

const KIND_LETTERS: readonly (readonly [(stats: Stats) => boolean, string])[] = [
  [(stats) => stats.isDirectory(), 'd'],
  [(stats) => stats.isSymbolicLink(), 'L'],
  [(stats) => stats.isFIFO(), 'p'],
  [(stats) => stats.isSocket(), 'S'],
  [(stats) => stats.isCharacterDevice(), 'Dc'],
  [(stats) => stats.isBlockDevice(), 'D'],
]
const SPECIAL_MODE_BITS = [
  [0o4000, 'u'],
  [0o2000, 'g'],
  [0o1000, 't'],
] as const

/** File mode as peers write it: type and special bits, then three times `rwx`. */
export function formatMode(stats: Stats): string {
  const kind = KIND_LETTERS.find(([is]) => is(stats))?.[1] ?? ''
  const special = SPECIAL_MODE_BITS.filter(([bit]) => (stats.mode & bit) !== 0).map(
    ([, letter]) => letter,
  )
  const rights = Array.from('rwxrwxrwx', (letter, index) =>
    (stats.mode & (0o400 >> index)) === 0 ? '-' : letter,
  )
  return `${kind + special.join('') || '-'}${rights.join('')}`
}

const SNIFFED_BYTES = 512

/** Only distinguishes text from binary content; the file name tells the rest. */
async function sniffContentType(handle: FileHandle): Promise<string> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
  const isText = !buffer.subarray(0, bytesRead).includes(0)
  return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream'
}

import { createReadStream } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath, partsBelow, type Owner } from '../store/beneath.ts'
import type { PlaceBelow } from '../store/task-place.ts'
import { checkFile, findChecksum, parseChecksum, type Checksum } from './checksum.ts'
import { decompress, archiveFormatOf, type ArchiveFormat } from './compression.ts'
import { fetchGit } from './fetch-git.ts'
import { fetchHttp } from './fetch-http.ts'
import { artifactFault, parseSource, type ArtifactSource } from './source.ts'
import { checkTree, giveTree, mergeTree, moveFile } from './staged-tree.ts'
import { readTar } from './tar.ts'
import { archiveFault, unpack, UnpackBudget } from './unpack.ts'
import { readZip } from './zip.ts'

/** One artifact of a task, with every reference resolved. */
export interface ArtifactRequest {
  readonly source: string
  readonly options: Readonly<Record<string, string>> | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly mode: string
  readonly insecure: boolean
  readonly destination: PlaceBelow
  /** Gets the files; undefined: they stay the agent's. */
  readonly owner: Owner | undefined
}

export interface FetchContext {
  /** A directory that only the agent writes to, best on the disk of the destination. */
  readonly stagingRoot: string
  /** Whether files of this machine may be fetched. */
  readonly allowsFiles: boolean
  readonly signal: AbortSignal
}

/**
 * Fetches one artifact: everything happens in a directory of the agent's own, and only what was
 * checked is moved to the task's. Fault `task-artifact` says what failed, and names the source.
 */
export async function fetchArtifact(request: ArtifactRequest, place: FetchContext): Promise<void> {
  try {
    await fetchAndDeliver(request, place)
  } catch (thrown) {
    throw artifactFault(request.source, thrown)
  }
}

async function fetchAndDeliver(request: ArtifactRequest, place: FetchContext): Promise<void> {
  place.signal.throwIfAborted()
  const source = parseSource(request.source, request.options)
  const scratch = await mkdtemp(join(place.stagingRoot, '.fetch-'))
  try {
    const tree = join(scratch, 'tree')
    await mkdir(tree, { mode: 0o755 })
    const work: Work = { request, place, source, scratch, tree }
    const isFile = await stage(work)
    await checkTree(tree, new UnpackBudget(Infinity))
    if (request.owner !== undefined) await giveTree(tree, request.owner)
    await deliver(work, isFile)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

interface Work {
  readonly request: ArtifactRequest
  readonly place: FetchContext
  readonly source: ArtifactSource
  readonly scratch: string
  /** Where what is to be delivered is put together. */
  readonly tree: string
}

/** True when a single file was fetched, false for a directory of whatever it holds. */
async function stage(work: Work): Promise<boolean> {
  const { request, source, scratch } = work
  if (source.kind === 'git') {
    await stageGit(work)
    return false
  }
  const download = join(scratch, 'download')
  if (source.kind === 'file') {
    if (!work.place.allowsFiles) {
      throw new Fault('task-artifact', 'files of the node itself may not be fetched here')
    }
    const path = source.address.replace(/^file:\/\//, '')
    if ((await stat(path)).isDirectory()) {
      await cp(path, work.tree, { recursive: true, verbatimSymlinks: true })
      return false
    }
    await copyFile(path, download)
  } else {
    await fetchHttp({ ...httpSettings(work), address: source.address, path: download })
  }
  const checksum = await wantedChecksum(work)
  if (checksum !== undefined) await checkFile(download, checksum)
  const format = archiveFormatOf(source.name, source.options['archive'])
  if (format === undefined && request.mode === 'dir') {
    throw archiveFault('a directory is wanted, and this is no archive')
  }
  return unpackDownload(work, download, format)
}

function httpSettings({ request, place }: Work): HttpSettings {
  const headers = request.headers ?? {}
  const { insecure } = request
  return { headers, insecure, bytesMax: AGENT_LIMITS.artifactBytesMax, signal: place.signal }
}

type HttpSettings = Omit<Parameters<typeof fetchHttp>[0], 'address' | 'path'>

async function stageGit(work: Work): Promise<void> {
  const { request, place, source, scratch, tree } = work
  if (request.mode === 'file') throw archiveFault('a file is wanted, and this is a repository')
  const { allowsFiles, signal } = place
  const { insecure } = request
  await rm(tree, { recursive: true })
  await fetchGit({ source, path: tree, scratch, allowsFiles, insecure, signal })
}

/** `checksum=file:<address>` names a list of checksums that is fetched from there. */
async function wantedChecksum(work: Work): Promise<Checksum | undefined> {
  const { source, scratch } = work
  const text = source.options['checksum'] ?? ''
  if (text === '') return undefined
  if (!text.startsWith('file:')) return parseChecksum(text)
  const path = join(scratch, 'checksums')
  const bytesMax = AGENT_LIMITS.checksumFileBytesMax
  const address = text.slice('file:'.length)
  await fetchHttp({ ...httpSettings(work), address, path, bytesMax })
  return findChecksum(await readFile(path, 'utf8'), source.name)
}

async function unpackDownload(
  { source, tree, place }: Work,
  download: string,
  format: ArchiveFormat | undefined,
): Promise<boolean> {
  if (format === undefined) {
    await chmod(download, 0o644)
    await rename(download, join(tree, source.name))
    return true
  }
  const budget = new UnpackBudget((await stat(download)).size)
  if (format.archive === 'zip') {
    await unpack(readZip(download), tree, { budget })
    return false
  }
  const packed = createReadStream(download, { signal: place.signal })
  const bytes = decompress(packed, format.compression)
  if (format.archive === 'tar') {
    await unpack(readTar(bytes), tree, { budget })
    return false
  }
  const isNamed = source.name.toLowerCase().endsWith(format.ending)
  const name = isNamed ? source.name.slice(0, -format.ending.length) : source.name
  await writeFile(join(tree, name || 'download'), counted(bytes, budget), { flag: 'wx' })
  return true
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  budget: UnpackBudget,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    budget.addBytes(piece.length)
    yield piece
  }
}

/** Moves what was fetched to where the task looks for it. */
async function deliver(work: Work, isFile: boolean): Promise<void> {
  const { request } = work
  const { destination, owner } = request
  const from = await wantedPart(work)
  const root = await Beneath.open(destination.root)
  const make = { mode: 0o755, owner }
  try {
    if (request.mode !== 'file') {
      const { parts } = destination
      await root.within({ parts, make }, (target) => mergeTree(from, target, owner))
      return
    }
    const [only, ...others] = await readdir(from)
    const name = destination.parts.at(-1)
    if (only === undefined || others.length > 0 || name === undefined) {
      throw archiveFault(isFile ? 'the destination is no file' : 'one file is wanted, not several')
    }
    if (!(await lstat(join(from, only))).isFile())
      throw archiveFault(`one file is wanted, and ${JSON.stringify(only)} is none`)
    const parts = destination.parts.slice(0, -1)
    await root.within({ parts, make }, (parent) => moveFile(join(from, only), parent, name))
  } finally {
    await root.close()
  }
}

async function wantedPart({ source, tree }: Work): Promise<string> {
  if (source.subdirectory === '') return tree
  const parts = partsBelow(source.subdirectory)
  if (parts === undefined) throw archiveFault(`${JSON.stringify(source.subdirectory)} leads out`)
  // Checked part by part, so that a link of the archive is not followed.
  const root = await Beneath.open(tree)
  try {
    await (await root.directory(parts)).close()
  } finally {
    await root.close()
  }
  return join(tree, ...parts)
}

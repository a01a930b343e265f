import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  lstat,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ResolveHost } from './address-policy.ts'
import { archiveFormatOf, decompress, type ArchiveFormat } from './compression.ts'
import { DiskBudget, type DiskLimits, type FileCharge } from './disk-budget.ts'
import { fetchGit } from './fetch-git.ts'
import { describeBucketProblem, fetchHttp, newGcsRequest, newS3Request } from './fetch-http.ts'
import type { ArtifactSource } from './source.ts'
import { readTar, readZip } from './archives.ts'
import { archiveFault, unpack, UnpackBudget } from './unpack.ts'

/** Everything that the fetcher process is told about one artifact. */
export interface FetchJob {
  readonly source: ArtifactSource
  readonly headers: Readonly<Record<string, string>>
  readonly mode: string
  readonly insecure: boolean
  /** Whether files of this machine may be fetched. */
  readonly allowsFiles: boolean
  /** Whether local addresses may be reached. */
  readonly allowsLocal: boolean
  readonly limits: DiskLimits
  /** Where programs such as git are found. */
  readonly searchPath: string
}

interface StagingOptions {
  /** The staging directory; the result is its directory `tree`. */
  readonly stagingDir: string
  /** Called with the bytes used so far. */
  readonly onDiskUsage: (bytes: number) => void
  readonly signal: AbortSignal
  readonly resolve?: ResolveHost
}

/** Directory of the result in the staging directory. */
export const TREE_DIR = 'tree'

/**
 * Fetches and unpacks one artifact into its staging directory. True when a single file was fetched,
 * false for a directory.
 */
export async function stageArtifact(job: FetchJob, options: StagingOptions): Promise<boolean> {
  const { stagingDir } = options
  const budget = new DiskBudget(job.limits, options.onDiskUsage)
  const treeDir = join(stagingDir, TREE_DIR)
  await mkdir(treeDir, { mode: 0o755 })
  const work: StagingWork = {
    ...options,
    job,
    budget,
    treeDir,
    downloadPath: join(stagingDir, 'download'),
  }
  switch (job.source.kind) {
    case 'git':
      await stageGit(work)
      return false
    case 'file':
      return stageFile(work)
    case 'http': {
      const { address } = job.source
      const charge = await fetchHttp({
        ...httpFetchSettings(work),
        address,
        path: work.downloadPath,
      })
      return stageDownload(work, charge)
    }
    case 's3':
    case 'gcs':
      return stageBucketObject(work)
  }
}

async function stageBucketObject(work: StagingWork): Promise<boolean> {
  const { source, headers } = work.job
  const request =
    source.kind === 's3' ? await newS3Request(source, headers) : newGcsRequest(source, headers)
  const target = { ...request, path: work.downloadPath, problem: describeBucketProblem }
  return stageDownload(work, await fetchHttp({ ...httpFetchSettings(work), ...target }))
}

interface StagingWork extends StagingOptions {
  readonly job: FetchJob
  readonly budget: DiskBudget
  readonly treeDir: string
  readonly downloadPath: string
}

function httpFetchSettings({ job, budget, signal, resolve }: StagingWork): HttpSettings {
  const { headers, insecure, allowsLocal } = job
  const policy = { allowsLocal, ...(resolve === undefined ? {} : { resolve }) }
  return { headers, skipsTlsVerification: insecure, policy, budget, signal }
}

type HttpSettings = Omit<Parameters<typeof fetchHttp>[0], 'address' | 'path'>

async function stageGit(work: StagingWork): Promise<void> {
  const { job, stagingDir, treeDir: path } = work
  const { source, allowsFiles, searchPath } = job
  if (job.mode === 'file') throw archiveFault('a file is wanted, and this is a repository')
  await rm(path, { recursive: true })
  await fetchGit({ ...httpFetchSettings(work), source, path, stagingDir, allowsFiles, searchPath })
}

async function stageFile(work: StagingWork): Promise<boolean> {
  const { job, budget, treeDir, downloadPath } = work
  if (!job.allowsFiles) {
    throw new Fault('task-artifact', 'files of the node itself may not be fetched here')
  }
  const path = job.source.address.replace(/^file:\/\//, '')
  const stats = await stat(path)
  if (stats.isDirectory()) {
    const chargeEntry = async (from: string): Promise<boolean> => {
      const { size } = await lstat(from)
      budget.addEntry().addBytes(size)
      return true
    }
    await cp(path, treeDir, { recursive: true, verbatimSymlinks: true, filter: chargeEntry })
    return false
  }
  if (!stats.isFile()) throw archiveFault('it is neither a file nor a directory')
  const charge = budget.addFile()
  charge.addBytes(stats.size)
  await copyFile(path, downloadPath)
  return stageDownload(work, charge)
}

async function stageDownload(work: StagingWork, charge: FileCharge): Promise<boolean> {
  const { job, downloadPath } = work
  const checksum = await expectedChecksum(work)
  if (checksum !== undefined) await verifyFile(downloadPath, checksum)
  const format = archiveFormatOf(job.source.name, job.source.options['archive'])
  if (format === undefined && job.mode === 'dir') {
    throw archiveFault('a directory is wanted, and this is no archive')
  }
  if (format === undefined) {
    await chmod(downloadPath, 0o644)
    await rename(downloadPath, join(work.treeDir, job.source.name))
    return true
  }
  const isFile = await unpackDownload(work, format)
  await rm(downloadPath)
  charge.release()
  return isFile
}

/** `checksum=file:<address>` names a list of checksums that is fetched from there. */
async function expectedChecksum(work: StagingWork): Promise<Checksum | undefined> {
  const { source } = work.job
  const checksumOption = source.options['checksum'] ?? ''
  if (checksumOption === '') return undefined
  if (!checksumOption.startsWith('file:')) return parseChecksum(checksumOption)
  const path = join(work.stagingDir, 'checksums')
  const bytesMax = AGENT_LIMITS.checksumFileBytesMax
  const address = checksumOption.slice('file:'.length)
  await fetchHttp({ ...httpFetchSettings(work), address, path, bytesMax })
  return findChecksum(await readFile(path, 'utf8'), source.name)
}

async function unpackDownload(work: StagingWork, format: ArchiveFormat): Promise<boolean> {
  const { job, treeDir, downloadPath, signal } = work
  const budget = new UnpackBudget((await stat(downloadPath)).size, work.budget)
  if (format.archive === 'zip') {
    await unpack(readZip(downloadPath), treeDir, { budget, usesBlockingCalls: true })
    return false
  }
  const compressedStream = createReadStream(downloadPath, { signal })
  const bytes = decompress(compressedStream, format.compression)
  if (format.archive === 'tar') {
    await unpack(readTar(bytes), treeDir, { budget, usesBlockingCalls: true })
    return false
  }
  const { name } = job.source
  const hasExtension = name.toLowerCase().endsWith(format.extension)
  const uncompressedName = hasExtension ? name.slice(0, -format.extension.length) : name
  budget.addFile()
  await writeFile(join(treeDir, uncompressedName || 'download'), countBytes(bytes, budget), {
    flag: 'wx',
  })
  return true
}

async function* countBytes(
  bytes: AsyncIterable<Uint8Array>,
  budget: UnpackBudget,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    budget.addBytes(piece.length)
    yield piece
  }
}

interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Lower case. */
  readonly hex: string
}

const HEX_LENGTHS = { md5: 32, sha1: 40, sha256: 64, sha512: 128 } as const

/** Parses `sha256:<hex>`, or the digits alone, whose length implies the algorithm. */
export function parseChecksum(text: string): Checksum {
  const match = /^(?:(md5|sha1|sha256|sha512):)?([0-9a-f]+)$/i.exec(text.trim())
  const hex = match?.[2]?.toLowerCase() ?? ''
  const namedAlgorithm = match?.[1]?.toLowerCase()
  const algorithm = ALGORITHMS.find((name) => HEX_LENGTHS[name] === hex.length)
  if (algorithm === undefined || (namedAlgorithm !== undefined && namedAlgorithm !== algorithm)) {
    throw new Fault('task-artifact', `${JSON.stringify(text.slice(0, 160))} is no checksum`)
  }
  return { algorithm, hex }
}

const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const

/**
 * Checksum of a file from a list: lines `<hex>  <name>`, `<hex> *<name>` or `ALG (<name>) = <hex>`,
 * or a single checksum.
 */
export function findChecksum(list: string, name: string): Checksum {
  const lines = list.split('\n').map((line) => line.trim())
  const entries = lines.filter((line) => line !== '' && !line.startsWith('#'))
  for (const line of entries) {
    const plainMatch = /^([0-9a-f]+)\s+\*?(\S.*)$/i.exec(line)
    if (plainMatch !== null && matchesFileName(plainMatch[2] ?? '', name))
      return parseChecksum(plainMatch[1] ?? '')
    const taggedMatch = /^\w+ ?\((.+)\)\s*=\s*([0-9a-f]+)$/i.exec(line)
    if (taggedMatch !== null && matchesFileName(taggedMatch[1] ?? '', name))
      return parseChecksum(taggedMatch[2] ?? '')
  }
  const [onlyEntry, ...others] = entries
  if (onlyEntry !== undefined && others.length === 0 && !/\s/.test(onlyEntry))
    return parseChecksum(onlyEntry)
  throw new Fault('task-artifact', `the list of checksums has none for ${JSON.stringify(name)}`)
}

function matchesFileName(path: string, name: string): boolean {
  return path === name || path.replace(/^.*\//, '') === name
}

async function verifyFile(path: string, { algorithm, hex }: Checksum): Promise<void> {
  const hash = createHash(algorithm)
  for await (const piece of createReadStream(path)) hash.update(piece)
  const actual = hash.digest('hex')
  if (actual === hex) return
  throw new Fault('task-artifact', `the checksum is ${algorithm}:${actual}, not ${hex}`)
}

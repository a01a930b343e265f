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
import type { Resolve } from './address-policy.ts'
import { checkFile, findChecksum, parseChecksum, type Checksum } from './checksum.ts'
import { archiveFormatOf, decompress, type ArchiveFormat } from './compression.ts'
import { DiskBudget, type DiskLimits, type FileCharge } from './disk-budget.ts'
import { fetchGit } from './fetch-git.ts'
import { fetchHttp } from './fetch-http.ts'
import { bucketProblem, gcsRequest, s3Request } from './object-storage.ts'
import type { ArtifactSource } from './source.ts'
import { readTar } from './tar.ts'
import { archiveFault, unpack, UnpackBudget } from './unpack.ts'
import { readZip } from './zip.ts'

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
  readonly scratch: string
  /** Receives the bytes that are taken so far. */
  readonly used: (bytes: number) => void
  readonly signal: AbortSignal
  readonly resolve?: Resolve
}

/** Where the result of a fetch is found in its staging directory. */
export const TREE = 'tree'

/**
 * Fetches and unpacks one artifact into its staging directory. True when a single file was fetched,
 * false for a directory.
 */
export async function stageArtifact(job: FetchJob, options: StagingOptions): Promise<boolean> {
  const { scratch } = options
  const budget = new DiskBudget(job.limits, options.used)
  const tree = join(scratch, TREE)
  await mkdir(tree, { mode: 0o755 })
  const work: Work = { ...options, job, budget, tree, download: join(scratch, 'download') }
  switch (job.source.kind) {
    case 'git':
      await stageGit(work)
      return false
    case 'file':
      return stageFile(work)
    case 'http': {
      const { address } = job.source
      const charge = await fetchHttp({ ...httpSettings(work), address, path: work.download })
      return stageDownload(work, charge)
    }
    case 's3':
    case 'gcs':
      return stageObject(work)
  }
}

async function stageObject(work: Work): Promise<boolean> {
  const { source, headers } = work.job
  const request =
    source.kind === 's3' ? await s3Request(source, headers) : gcsRequest(source, headers)
  const target = { ...request, path: work.download, problem: bucketProblem }
  return stageDownload(work, await fetchHttp({ ...httpSettings(work), ...target }))
}

interface Work extends StagingOptions {
  readonly job: FetchJob
  readonly budget: DiskBudget
  readonly tree: string
  readonly download: string
}

function httpSettings({ job, budget, signal, resolve }: Work): HttpSettings {
  const { headers, insecure, allowsLocal } = job
  const policy = { allowsLocal, ...(resolve === undefined ? {} : { resolve }) }
  return { headers, insecure, policy, budget, signal }
}

type HttpSettings = Omit<Parameters<typeof fetchHttp>[0], 'address' | 'path'>

async function stageGit(work: Work): Promise<void> {
  const { job, scratch, tree: path } = work
  const { source, allowsFiles, searchPath } = job
  if (job.mode === 'file') throw archiveFault('a file is wanted, and this is a repository')
  await rm(path, { recursive: true })
  await fetchGit({ ...httpSettings(work), source, path, scratch, allowsFiles, searchPath })
}

async function stageFile(work: Work): Promise<boolean> {
  const { job, budget, tree, download } = work
  if (!job.allowsFiles) {
    throw new Fault('task-artifact', 'files of the node itself may not be fetched here')
  }
  const path = job.source.address.replace(/^file:\/\//, '')
  const found = await stat(path)
  if (found.isDirectory()) {
    const filter = async (from: string): Promise<boolean> => {
      const { size } = await lstat(from)
      budget.addEntry().addBytes(size)
      return true
    }
    await cp(path, tree, { recursive: true, verbatimSymlinks: true, filter })
    return false
  }
  if (!found.isFile()) throw archiveFault('it is neither a file nor a directory')
  const charge = budget.addFile()
  charge.addBytes(found.size)
  await copyFile(path, download)
  return stageDownload(work, charge)
}

async function stageDownload(work: Work, charge: FileCharge): Promise<boolean> {
  const { job, download } = work
  const checksum = await wantedChecksum(work)
  if (checksum !== undefined) await checkFile(download, checksum)
  const format = archiveFormatOf(job.source.name, job.source.options['archive'])
  if (format === undefined && job.mode === 'dir') {
    throw archiveFault('a directory is wanted, and this is no archive')
  }
  if (format === undefined) {
    await chmod(download, 0o644)
    await rename(download, join(work.tree, job.source.name))
    return true
  }
  const isFile = await unpackDownload(work, format)
  await rm(download)
  charge.release()
  return isFile
}

/** `checksum=file:<address>` names a list of checksums that is fetched from there. */
async function wantedChecksum(work: Work): Promise<Checksum | undefined> {
  const { source } = work.job
  const text = source.options['checksum'] ?? ''
  if (text === '') return undefined
  if (!text.startsWith('file:')) return parseChecksum(text)
  const path = join(work.scratch, 'checksums')
  const bytesMax = AGENT_LIMITS.checksumFileBytesMax
  const address = text.slice('file:'.length)
  await fetchHttp({ ...httpSettings(work), address, path, bytesMax })
  return findChecksum(await readFile(path, 'utf8'), source.name)
}

async function unpackDownload(work: Work, format: ArchiveFormat): Promise<boolean> {
  const { job, tree, download, signal } = work
  const budget = new UnpackBudget((await stat(download)).size, work.budget)
  if (format.archive === 'zip') {
    await unpack(readZip(download), tree, { budget, mayBlock: true })
    return false
  }
  const packed = createReadStream(download, { signal })
  const bytes = decompress(packed, format.compression)
  if (format.archive === 'tar') {
    await unpack(readTar(bytes), tree, { budget, mayBlock: true })
    return false
  }
  const { name } = job.source
  const isNamed = name.toLowerCase().endsWith(format.ending)
  const plain = isNamed ? name.slice(0, -format.ending.length) : name
  budget.addFile()
  await writeFile(join(tree, plain || 'download'), counted(bytes, budget), { flag: 'wx' })
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

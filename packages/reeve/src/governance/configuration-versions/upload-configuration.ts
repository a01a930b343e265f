import { createHash } from 'node:crypto'
import { createGunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
  type TarHeader,
} from '@reeve/kit/tar-header.ts'
import {
  refusalMessage,
  NOT_FOUND,
  type ConfigurationVersionRow,
  type GovernanceRefusal,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { findUploader, storeBlob, type StoredBlob, uploadOnce } from '../blobs.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { queueRun } from '../runs/create-run.ts'
import { withStatusTime } from '../runs/run-status.ts'
import { usesRemoteExecution } from '../workspaces/find-workspace.ts'
import { findConfiguration } from './configuration-versions.ts'

/**
 * Stores the archive of the configuration version with this upload key. An archive that cannot be
 * unpacked safely is rejected and makes the version `errored`, because clients that only poll the
 * status would otherwise wait forever.
 */
export async function uploadConfiguration(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: { readonly uploadKey: string; readonly bytes: Uint8Array },
): Promise<Result<ConfigurationVersionRow, GovernanceRefusal>> {
  const found = findByUploadKey(context, uploadKey, sender)
  if (!found.ok) return found
  const { caller, id } = found.value
  return await uploadOnce(context, id, async () => {
    const problem = await findArchiveProblem(bytes)
    if (problem !== undefined) return await rejectArchive(context, caller, { id, problem })
    return await storeArchive(context, caller, { id, bytes })
  })
}

function findByUploadKey(
  context: GovernanceContext,
  uploadKey: string,
  sender: GovernanceCaller,
): Result<{ readonly id: string; readonly caller: GovernanceCaller }, GovernanceRefusal> {
  const { configuration_versions: versions } = context.store.tables
  const [id] = versions.keysByIndex('upload', context.sealer.hash(uploadKey))
  if (id === undefined) return err(NOT_FOUND)
  const { status, upload } = versions.get(id)
  if (status !== 'pending') return err(ARCHIVE_ALREADY_UPLOADED)
  const caller = findUploader(context, upload, sender)
  if (!caller.ok) return caller
  const found = findConfiguration(context, caller.value, {
    configurationId: id,
    right: 'queuePlan',
  })
  return found.ok ? ok({ id, caller: caller.value }) : found
}

const ARCHIVE_ALREADY_UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail:
    'The configuration version has an archive already; create another one to upload other files',
}

async function storeArchive(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, bytes }: { readonly id: string; readonly bytes: Uint8Array },
): Promise<Result<ConfigurationVersionRow, GovernanceRefusal>> {
  const find = () => context.store.tables.configuration_versions.find(id)
  const owner = find()
  if (owner === undefined) return err(NOT_FOUND)
  const { organizationId, workspaceId } = owner
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => find()?.status === 'pending' },
  )
  const before = find()
  if (before === undefined || blob === undefined) return err(NOT_FOUND)
  const configuration: ConfigurationVersionRow = {
    ...before,
    status: 'uploaded',
    statusMs: withStatusTime(before.statusMs, 'uploaded', context.clock.nowMs()),
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  const run = queueUploadRun(context, caller, configuration)
  const queued = { ...configuration, error: run.problem }
  await commitUpload(context, caller, queued, {
    ...blob,
    changes: [...blob.changes, ...run.changes],
    runIds: run.ids,
  })
  return ok(queued)
}

interface UploadRun {
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** Why no run was queued although one was requested. */
  readonly problem: string | null
}

const NO_RUN: UploadRun = { ids: [], changes: [], problem: null }

/**
 * Returns the run to queue after an upload. The archive is kept even if no run can be queued: the
 * version records the reason, and a run can be created from it later.
 */
function queueUploadRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  configuration: ConfigurationVersionRow,
): UploadRun {
  if (!configuration.autoQueueRuns) return NO_RUN
  const configurationId = configuration.id
  const found = findConfiguration(context, caller, { configurationId, right: 'queuePlan' })
  if (!found.ok || !usesRemoteExecution(found.value)) return NO_RUN
  const { workspace, rights } = found.value
  const queued = queueRun(context, {
    workspace,
    configuration,
    author: { userId: caller.userId, username: callerName(context, caller) },
    attributes: { 'save-plan': configuration.provisional },
    autoApply: rights.queueApply && workspace.autoApply,
    trigger: 'configuration-upload',
  })
  if (!queued.ok)
    return { ...NO_RUN, problem: `No run was queued. ${refusalMessage(queued.error)}` }
  const { run, changes } = queued.value
  return { ids: [run.id], changes, problem: null }
}

async function rejectArchive(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, problem }: { readonly id: string; readonly problem: string },
): Promise<Result<never, GovernanceRefusal>> {
  const before = context.store.tables.configuration_versions.find(id)
  if (before === undefined) return err(NOT_FOUND)
  await commitUpload(context, caller, {
    ...before,
    status: 'errored',
    statusMs: withStatusTime(before.statusMs, 'errored', context.clock.nowMs()),
    error: problem,
  })
  return err({ code: 'unprocessable', detail: problem })
}

/** Blob changes and other data that are stored with a version's row. */
interface StoredUpload extends StoredBlob {
  readonly runIds: readonly string[]
}

const NO_EXTRA_CHANGES: StoredUpload = { changes: [], blobs: [], runIds: [] }

async function commitUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: ConfigurationVersionRow,
  { changes, blobs, runIds }: StoredUpload = NO_EXTRA_CHANGES,
): Promise<void> {
  const update: Change = put('configuration_versions', row)
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id, ...runIds],
    changes: [update, ...changes],
    blobs,
  })
}

/** Limits of an unpacked archive; those of the API unless a test sets smaller ones. */
interface ArchiveLimits {
  readonly unpackedBytesMax: number
  readonly entriesMax: number
}

const ARCHIVE_LIMITS: ArchiveLimits = {
  unpackedBytesMax: v2.CONFIGURATION_UNPACKED_BYTES_MAX,
  entriesMax: v2.CONFIGURATION_ENTRIES_MAX,
}

/**
 * Returns why the archive of a configuration is invalid; undefined if it can be unpacked into a
 * directory without files outside it. Only headers are kept in memory, and decompression runs off
 * the event loop, so an archive that unpacks to a gigabyte does not block other requests.
 */
async function findArchiveProblem(
  archive: Uint8Array,
  limits: ArchiveLimits = ARCHIVE_LIMITS,
): Promise<string | undefined> {
  const scan = new TarScanner(limits)
  const gunzip = createGunzip()
  gunzip.end(archive)
  try {
    // A gunzip stream yields buffers.
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      const step = scan.read(chunk)
      if (!step.ok) return step.error
    }
  } catch (thrown) {
    const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
    if (typeof code === 'string' && code.startsWith('Z_')) return NOT_GZIPPED
    throw thrown
  }
  return scan.end()
}

const NOT_GZIPPED = 'The archive is not a complete gzip file; upload a gzipped tar file'
const NOT_TAR = 'The archive is not a tar archive; upload a gzipped tar file'
const TRUNCATED = 'The archive ends in the middle of an entry'

/** Long names and extended headers: entries that describe the next entry. */
const METADATA_TYPES = new Set(['L', 'K', 'x', 'g'])
const METADATA_BYTES_MAX = 1024 * 1024

/** Regular files, links of both kinds, and directories. */
const ALLOWED_TYPES = new Set(['0', '\0', '7', '1', '2', '5'])
const HARD_LINK = '1'
const SYMBOLIC_LINK = '2'
const DIRECTORY = '5'

type ScanResult = Result<undefined, string>
const CONTINUE: ScanResult = ok(undefined)

/** Scans the entries of a tar archive that arrives in chunks. */
class TarScanner {
  readonly #limits: ArchiveLimits
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of the current file that remain to be skipped. */
  #skipBytes = 0
  #unpackedBytes = 0
  #entries = 0
  #isEnded = false
  /** The entry whose content describes the next one. */
  #metadataHeader: TarHeader | undefined
  #nextPath: string | undefined
  #nextTarget: string | undefined
  /** Paths of the symbolic links so far: no path goes through one when the archive is unpacked. */
  readonly #symbolicLinks = new Set<string>()

  constructor(limits: ArchiveLimits) {
    this.#limits = limits
  }

  read(chunk: Buffer): ScanResult {
    this.#unpackedBytes += chunk.length
    const { unpackedBytesMax } = this.#limits
    if (this.#unpackedBytes > unpackedBytesMax)
      return err(`The archive unpacks to more than ${unpackedBytesMax} bytes`)
    if (this.#isEnded) return CONTINUE
    const skipped = Math.min(this.#skipBytes, chunk.length)
    this.#skipBytes -= skipped
    const unread = chunk.subarray(skipped)
    this.#pending = this.#pending.length === 0 ? unread : Buffer.concat([this.#pending, unread])
    return this.#readPending()
  }

  /** Returns why the archive is incomplete. */
  end(): string | undefined {
    if (this.#isEnded) return undefined
    if (this.#unpackedBytes === 0) return NOT_TAR
    return this.#skipBytes > 0 || this.#pending.length > 0 || this.#metadataHeader
      ? TRUNCATED
      : undefined
  }

  #readPending(): ScanResult {
    for (;;) {
      const size = this.#metadataHeader?.size
      const needed = size === undefined ? TAR_BLOCK_BYTES : paddedToBlocks(size)
      if (this.#isEnded || this.#pending.length < needed) return CONTINUE
      const block = this.#pending.subarray(0, needed)
      this.#pending = this.#pending.subarray(needed)
      const step = size === undefined ? this.#readHeader(block) : this.#readMetadata(block, size)
      if (!step.ok) return step
    }
  }

  #readHeader(block: Buffer): ScanResult {
    if (block.every((byte) => byte === 0)) {
      this.#isEnded = true
      return CONTINUE
    }
    const { entriesMax } = this.#limits
    if (++this.#entries > entriesMax) return err(`The archive has more than ${entriesMax} entries`)
    const header = readTarHeader(block)
    if (!header.ok) return err(NOT_TAR)
    const { type, size } = header.value
    if (METADATA_TYPES.has(type)) {
      if (size > METADATA_BYTES_MAX) return err(NOT_TAR)
      this.#metadataHeader = header.value
      return CONTINUE
    }
    return this.#readEntry(header.value)
  }

  #readMetadata(body: Buffer, size: number): ScanResult {
    const type = this.#metadataHeader?.type
    const bytes = body.subarray(0, size)
    this.#metadataHeader = undefined
    if (type === 'L') this.#nextPath = decodeTarText(bytes)
    else if (type === 'K') this.#nextTarget = decodeTarText(bytes)
    else if (type === 'x') {
      const records = readPaxRecords(bytes)
      if (!records.ok) return err(NOT_TAR)
      this.#nextPath = records.value.get('path') ?? this.#nextPath
      this.#nextTarget = records.value.get('linkpath') ?? this.#nextTarget
    }
    return CONTINUE
  }

  #readEntry(header: TarHeader): ScanResult {
    const { type, size } = header
    const path = this.#nextPath ?? header.path
    const target = this.#nextTarget ?? header.target
    this.#nextPath = undefined
    this.#nextTarget = undefined
    const isLink = type === HARD_LINK || type === SYMBOLIC_LINK
    const skip = isLink || type === DIRECTORY ? 0 : paddedToBlocks(size)
    const pendingSkipped = Math.min(skip, this.#pending.length)
    this.#pending = this.#pending.subarray(pendingSkipped)
    this.#skipBytes = skip - pendingSkipped
    const problem =
      entryProblem({ path, type, target }) ??
      this.#linkProblem(path, type === DIRECTORY) ??
      (type === HARD_LINK ? this.#linkProblem(target) : undefined)
    if (type === SYMBOLIC_LINK) this.#symbolicLinks.add(pathSegments(path).join('/'))
    return problem === undefined ? CONTINUE : err(problem)
  }

  /**
   * Returns why a path cannot be unpacked: one of its parents is a link, or for a directory the
   * path itself.
   */
  #linkProblem(path: string, isDirectory = false): string | undefined {
    if (this.#symbolicLinks.size === 0) return undefined
    const parts = pathSegments(path)
    const parents = parts.slice(0, isDirectory ? parts.length : -1)
    const link = parents
      .map((_, index) => parts.slice(0, index + 1).join('/'))
      .find((parent) => this.#symbolicLinks.has(parent))
    if (link === undefined) return undefined
    return `The path ${JSON.stringify(path)} goes through the link ${JSON.stringify(link)}`
  }
}

function pathSegments(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

interface TarEntry {
  readonly path: string
  readonly type: string
  readonly target: string
}

/** Returns why an entry must not be unpacked; a path must not leave the directory. */
function entryProblem({ path, type, target }: TarEntry): string | undefined {
  const name = JSON.stringify(path)
  if (path.startsWith('/')) return `The path ${name} is absolute; paths must be relative`
  if (path.split('/').includes('..')) return `The path ${name} has a ".." in it`
  if (!ALLOWED_TYPES.has(type))
    return `${name} is a device or another special file; only files, directories and links are unpacked`
  if (type === HARD_LINK && escapesDirectory('', target))
    return `The link ${name} leads out of the configuration, to ${JSON.stringify(target)}`
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
  if (type === SYMBOLIC_LINK && escapesDirectory(folder, target))
    return `The link ${name} leads out of the configuration, to ${JSON.stringify(target)}`
  return undefined
}

function escapesDirectory(folder: string, target: string): boolean {
  if (target.startsWith('/')) return true
  let depth = 0
  for (const part of [...folder.split('/'), ...target.split('/')]) {
    if (part === '..') depth--
    else if (part !== '' && part !== '.') depth++
    if (depth < 0) return true
  }
  return false
}

import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { basename, join, posix, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HEADERS, type FileInfo } from '@reeve/contract'
import { ApiError, ExecError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { renderFields, shortenId, renderTable, formatSize } from '../output/format.ts'
import { escapeControlCharacters, createOutputWriter } from '../output/printable.ts'
import { describeExecError } from './attach.ts'
import { collectFrames, copyBytes, copyFrames, lastLines, type WriteBytes } from './streams.ts'
import {
  allocationRequest,
  resolveAllocation,
  type AllocationStub,
  resolveTask,
  taskNames,
  findAllocation,
} from './find-allocation.ts'

interface FileLocation {
  readonly allocation: AllocationStub
  readonly path: string
}

/** `alloc fs`: lists a directory or prints a file. */
export async function runAllocFs(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const rest = flags.string('job') === undefined ? args.slice(1) : args
  const allocation = await resolveAllocation(invocation, args[0])
  const place = { allocation, path: rest[0] ?? '/' }
  const { data } = await client.v1.statFile(fileRequest(place))
  if (flags.has('stat')) output.print(data, () => formatFileInfo(data, invocation))
  else if (data.IsDir) await listDirectory(invocation, place)
  else await printFile(invocation, place, data)
  return EXIT_CODES.ok
}

function fileRequest({ allocation, path }: FileLocation) {
  const { params, query } = allocationRequest(allocation)
  return { params, query: { ...query, path } }
}

function formatFileInfo(file: FileInfo, { flags }: CommandContext): string {
  return renderFields([
    ['Name', escapeControlCharacters(file.Name)],
    ['Mode', file.FileMode],
    ['Size', formatFileSize(file, flags.has('exact'))],
    ['Modified', file.ModTime],
    ['Type', file.ContentType ?? (file.IsDir ? 'directory' : '')],
  ])
}

async function listDirectory(invocation: CommandContext, place: FileLocation): Promise<void> {
  const { client, flags, output } = invocation
  if (
    flags.has('follow') ||
    flags.string('tail') !== undefined ||
    flags.string('bytes') !== undefined
  ) {
    throw new UsageError(`${place.path} is a directory: only files are followed.`)
  }
  const { data, headers } = await client.v1.listFiles(fileRequest(place))
  const isExact = flags.has('exact')
  output.print(data, () => {
    const rows = data.map((file) => [
      file.FileMode,
      file.IsDir ? '' : formatFileSize(file, isExact),
      file.ModTime,
      `${escapeControlCharacters(file.Name)}${file.IsDir ? '/' : ''}`,
    ])
    return rows.length === 0
      ? 'The directory is empty.'
      : renderTable(['Mode', 'Size', 'Modified', 'Name'], rows)
  })
  if (headers.get(HEADERS.truncated) === 'true') {
    const { allocation, path } = place
    output.printNotice(
      `Only ${data.length} entries are listed, and the directory has more. ` +
        `List it in the task: reeve alloc exec ${shortenId(allocation.ID)} ls ${path}`,
    )
  }
}

function formatFileSize({ Size }: FileInfo, isExact: boolean): string {
  return isExact ? String(Size) : formatSize(Size)
}

async function printFile(
  invocation: CommandContext,
  place: FileLocation,
  { Size }: FileInfo,
): Promise<void> {
  const { client, flags, host, output, signal } = invocation
  if (output.isStructured) {
    throw new UsageError('--json and --template are for directories and --stat: this is a file.')
  }
  const offset = await startOffset(invocation, place, Size)
  const write = createOutputWriter(host)
  const { params, query } = fileRequest(place)
  if (!flags.has('follow')) {
    const request = { params, query: { ...query, offset, limit: Size - offset }, timeoutMs: 0 }
    const { data } =
      offset === 0
        ? await client.open('readFile', { params, query, timeoutMs: 0 })
        : await client.open('readFileAt', request)
    return await copyBytes(data, write)
  }
  const frames = client.frames('streamFile', { params, query: { ...query, offset }, signal })
  await copyFrames(frames, write, (what) => output.printNotice(what))
}

/** Returns the offset at which `--tail` or `--bytes` starts. */
async function startOffset(
  invocation: CommandContext,
  place: FileLocation,
  size: number,
): Promise<number> {
  const { client, flags } = invocation
  const bytes = flags.integer('bytes')
  if (bytes !== undefined) return Math.max(0, size - bytes)
  const lines = flags.integer('tail')
  if (lines === undefined) return 0
  const { params, query } = fileRequest(place)
  const tail = await lastLines(lines, async (count) => {
    const limit = Math.min(count, size)
    if (limit === 0) return new Uint8Array()
    const part = { ...query, offset: size - limit, limit }
    return (await client.v1.readFileAt({ params, query: part })).data
  })
  return size - tail.length
}

/** `ALLOC:PATH`; a path of this machine has no colon, or a slash before it. */
interface RemotePath {
  readonly allocation: string
  readonly path: string
}

/** `alloc cp`: downloads through the file API, uploads through a shell in the task. */
export async function runAllocCp(invocation: CommandContext): Promise<number> {
  const [from = '', to = ''] = invocation.args
  const [source, target] = [parseRemotePath(from), parseRemotePath(to)]
  if (source !== undefined && target === undefined) {
    await download(invocation, source, to)
    return EXIT_CODES.ok
  }
  if (source === undefined && target !== undefined) {
    await upload(invocation, from, target)
    return EXIT_CODES.ok
  }
  throw new UsageError('exactly one of the two paths must be in an allocation, as ALLOC:PATH.')
}

function parseRemotePath(text: string): RemotePath | undefined {
  const colon = text.indexOf(':')
  if (colon <= 0 || /^[./]/.test(text)) return undefined
  return { allocation: text.slice(0, colon), path: text.slice(colon + 1) || '/' }
}

async function download(invocation: CommandContext, from: RemotePath, to: string): Promise<void> {
  const { host, output } = invocation
  const allocation = await findAllocation(invocation, from.allocation)
  const { path, data } = await statRemote(invocation, allocation, from.path)
  const target = await resolveTarget(resolve(host.directory, to), posix.basename(path))
  const files = await downloadTree({ invocation, allocation }, { path, target, isDir: data.IsDir })
  output.printLine(
    `${files} ${files === 1 ? 'file' : 'files'} copied to ${escapeControlCharacters(target)}.`,
  )
}

/**
 * Finds a path relative to the directory of the allocation, else to that of its task: uploads are
 * relative to the latter.
 */
async function statRemote(
  { client, flags }: CommandContext,
  allocation: AllocationStub,
  path: string,
) {
  const read = async (at: string) => {
    const { data } = await client.v1.statFile(fileRequest({ allocation, path: at }))
    return { path: at, data }
  }
  try {
    return await read(path)
  } catch (thrown) {
    const tasks = taskNames(allocation)
    const task = flags.string('task') ?? (tasks.length === 1 ? tasks[0] : undefined)
    if (task === undefined || !(thrown instanceof ApiError)) throw thrown
    return await read(posix.join(task, path)).catch(() => {
      throw thrown
    })
  }
}

/** As in `cp`: an existing directory receives the file under its own name. */
async function resolveTarget(path: string, name: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() === true ? join(path, assertSafeName(name || 'alloc')) : path
}

interface DownloadContext {
  readonly invocation: CommandContext
  readonly allocation: AllocationStub
}

interface CopyItem {
  readonly path: string
  readonly target: string
  readonly isDir: boolean
}

/** Returns the number of files. */
async function downloadTree(
  source: DownloadContext,
  { path, target, isDir }: CopyItem,
): Promise<number> {
  const { client, signal } = source.invocation
  const { params, query } = allocationRequest(source.allocation)
  const request = { params, query: { ...query, path } }
  if (!isDir) {
    const { data } = await client.open('readFile', { ...request, timeoutMs: 0 })
    await pipeline(Readable.fromWeb(data), createWriteStream(target), { signal })
    return 1
  }
  await mkdir(target, { recursive: true })
  let files = 0
  for (const { Name, IsDir } of (await client.v1.listFiles(request)).data) {
    const child = { path: posix.join(path, Name), target: join(target, assertSafeName(Name)) }
    files += await downloadTree(source, { ...child, isDir: IsDir })
  }
  return files
}

/** A name that the node reports must not lead out of the target directory. */
function assertSafeName(name: string): string {
  if (name !== '..' && name !== '.' && !/[/\0]/.test(name)) return name
  throw new CommandError(
    `The node reported the invalid file name "${escapeControlCharacters(name)}".`,
  )
}

async function upload(invocation: CommandContext, from: string, to: RemotePath): Promise<void> {
  const { flags, host, output } = invocation
  const source = resolve(host.directory, from)
  const found = await stat(source).catch(() => undefined)
  if (found === undefined) throw new CommandError(`${from} does not exist.`)
  const allocation = await findAllocation(invocation, to.allocation)
  const task = resolveTask(allocation, flags.string('task'))
  const target = to.path.endsWith('/') ? posix.join(to.path, basename(source)) : to.path
  const files = found.isDirectory() ? await listFilesRecursively(source) : ['']
  for (const file of files) {
    const path = file === '' ? target : posix.join(target, file)
    await uploadFile({ invocation, allocation, task }, join(source, file), path)
  }
  const count = `${files.length} ${files.length === 1 ? 'file' : 'files'}`
  output.printLine(`${count} copied to ${escapeControlCharacters(target)} of task "${task}".`)
}

/** Regular files, as paths relative to the directory. */
async function listFilesRecursively(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted()
}

interface UploadContext {
  readonly invocation: CommandContext
  readonly allocation: AllocationStub
  readonly task: string
}

/** The path is an argument of the shell, never part of its script. */
const WRITE_SCRIPT = 'mkdir -p "$(dirname "$1")" && cat > "$1"'

async function uploadFile(
  { invocation, allocation, task }: UploadContext,
  source: string,
  path: string,
): Promise<void> {
  const { client, host, signal } = invocation
  const { params, query } = allocationRequest(allocation)
  const command = ['/bin/sh', '-c', WRITE_SCRIPT, 'sh', path]
  const request = { allocId: params.alloc_id, namespace: query.namespace, task, command, signal }
  try {
    const session = await client.exec({ ...request, tty: false })
    const outputs = [session.stdout, session.stderr].map((stream) =>
      copyBytes(stream, (bytes) => host.errBytes(bytes)),
    )
    for await (const chunk of createReadStream(source)) await session.stdin.write(chunk)
    await session.stdin.close()
    await Promise.all(outputs)
    const code = await session.exit
    if (code !== 0) throw new CommandError(`${path} could not be written: exit code ${code}.`)
  } catch (thrown) {
    throw thrown instanceof ExecError && !signal.aborted ? describeExecError(thrown) : thrown
  }
}

const TYPES = ['stdout', 'stderr'] as const
type LogType = (typeof TYPES)[number]

interface LogSource {
  readonly allocation: AllocationStub
  readonly task: string
  readonly type: LogType
}

/** `alloc logs`: prints the output of a task to standard output, its errors to standard error. */
export async function runAllocLogs(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const rest = flags.string('job') === undefined ? args.slice(1) : args
  const allocation = await resolveAllocation(invocation, args[0])
  const task = resolveTask(allocation, flags.string('task') ?? rest[0])
  const requestedTypes = TYPES.filter((type) => flags.has(type))
  const logs = (requestedTypes.length === 0 ? TYPES : requestedTypes).map((type) => ({
    allocation,
    task,
    type,
  }))
  await noticeIfLogsDisabled(invocation, allocation, task)
  if (flags.has('follow')) await followLogs(invocation, logs)
  else for (const log of logs) await copyLog(invocation, log, invocation.signal)
  return EXIT_CODES.ok
}

/** Prints a notice if the task has no logs: otherwise following them would hang silently. */
async function noticeIfLogsDisabled(
  { client, output }: CommandContext,
  allocation: AllocationStub,
  task: string,
): Promise<void> {
  const { data } = await client.v1.readAllocation(allocationRequest(allocation))
  const { TaskGroups } = data.Job
  const tasks = TaskGroups.flatMap((group) => group.Tasks)
  if (tasks.some(({ Name, LogConfig }) => Name === task && LogConfig.Disabled))
    output.printNotice(`Its job keeps no logs of task "${task}": logs { disabled = true }.`)
}

/** Follows all logs; the failure of one stream stops the others. */
async function followLogs(invocation: CommandContext, logs: readonly LogSource[]): Promise<void> {
  const failed = new AbortController()
  const signal = AbortSignal.any([invocation.signal, failed.signal])
  await Promise.all(
    logs.map((log) =>
      copyLog(invocation, log, signal).catch((thrown: unknown) => {
        failed.abort(thrown)
        throw thrown
      }),
    ),
  )
}

async function copyLog(
  invocation: CommandContext,
  log: LogSource,
  signal: AbortSignal,
): Promise<void> {
  const { flags, host, output } = invocation
  const lines = flags.integer('tail')
  const bytes = flags.integer('bytes')
  const write: WriteBytes = createOutputWriter(host, log.type)
  const frames = (wish: LogRange) => openLogFrames(invocation, log, { ...wish, signal })
  const readTail = (count: number) => collectFrames(frames({ fromEnd: count, follow: false }))
  const follow = flags.has('follow')
  if (lines === undefined) {
    const note = (what: string): void => output.printNotice(what)
    return await copyFrames(frames({ fromEnd: bytes, follow }), write, note)
  }
  const tail = await lastLines(lines, readTail)
  if (!follow) return await write(tail)
  await copyFrames(frames({ fromEnd: tail.length, follow }), write, (what) =>
    output.printNotice(what),
  )
}

interface LogRange {
  /** Bytes before the end at which to start; undefined starts at the beginning. */
  readonly fromEnd: number | undefined
  readonly follow: boolean
  readonly signal?: AbortSignal
}

function openLogFrames(
  { client }: CommandContext,
  { allocation, task, type }: LogSource,
  { fromEnd, follow, signal }: LogRange,
) {
  const { params, query } = allocationRequest(allocation)
  const where = fromEnd === undefined ? {} : { origin: 'end', offset: fromEnd }
  return client.frames('streamLogs', {
    params,
    query: { ...query, ...where, task, type, follow },
    signal,
  })
}

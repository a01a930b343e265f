import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { basename, join, posix, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ExecError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { copyBytes } from './copy.ts'
import {
  allocationRequest,
  resolveTask,
  findAllocation,
  type AllocationStub,
} from './find-allocation.ts'
import { describeExecError } from './session.ts'

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

export function parseRemotePath(text: string): RemotePath | undefined {
  const colon = text.indexOf(':')
  if (colon <= 0 || /^[./]/.test(text)) return undefined
  return { allocation: text.slice(0, colon), path: text.slice(colon + 1) || '/' }
}

async function download(
  invocation: CommandContext,
  { allocation: alloc, path }: RemotePath,
  to: string,
): Promise<void> {
  const { client, host, output } = invocation
  const allocation = await findAllocation(invocation, alloc)
  const { params, query } = allocationRequest(allocation)
  const { data } = await client.v1.statFile({ params, query: { ...query, path } })
  const target = await resolveTarget(resolve(host.directory, to), posix.basename(path))
  const files = await downloadTree({ invocation, allocation }, { path, target, isDir: data.IsDir })
  output.printLine(
    `${files} ${files === 1 ? 'file' : 'files'} copied to ${escapeControlCharacters(target)}.`,
  )
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

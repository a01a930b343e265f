import { HEADERS, type FileInfo } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { renderFields, shortenId, renderTable } from '../output/table.ts'
import { escapeControlCharacters, createOutputWriter } from '../output/printable.ts'
import { formatSize } from '../output/size.ts'
import { copyBytes, copyFrames } from './copy.ts'
import { allocationRequest, resolveAllocation, type AllocationStub } from './find-allocation.ts'
import { lastLines } from './tail.ts'

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

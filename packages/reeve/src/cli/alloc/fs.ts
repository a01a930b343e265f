import { HEADERS, type FileInfo } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { fields, shortId, table } from '../output/table.ts'
import { printableName, taskWriter } from '../output/printable.ts'
import { sizeText } from '../output/size.ts'
import { copyBytes, copyFrames } from './copy.ts'
import { callFor, chosenAllocation, type AllocationStub } from './find-allocation.ts'
import { lastLines } from './tail.ts'

interface Place {
  readonly allocation: AllocationStub
  readonly path: string
}

/** A directory is listed, a file is written out, as in `ls` and `cat`. */
export async function runAllocFs(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const rest = flags.text('job') === undefined ? args.slice(1) : args
  const allocation = await chosenAllocation(invocation, args[0])
  const place = { allocation, path: rest[0] ?? '/' }
  const { data } = await client.v1.statFile(callAt(place))
  if (flags.has('stat')) output.show(data, () => fileText(data, invocation))
  else if (data.IsDir) await listDirectory(invocation, place)
  else await writeOut(invocation, place, data)
  return EXIT_CODES.ok
}

function callAt({ allocation, path }: Place) {
  const { params, query } = callFor(allocation)
  return { params, query: { ...query, path } }
}

function fileText(file: FileInfo, { flags }: Invocation): string {
  return fields([
    ['Name', printableName(file.Name)],
    ['Mode', file.FileMode],
    ['Size', shownSize(file, flags.has('exact'))],
    ['Modified', file.ModTime],
    ['Type', file.ContentType ?? (file.IsDir ? 'directory' : '')],
  ])
}

async function listDirectory(invocation: Invocation, place: Place): Promise<void> {
  const { client, flags, output } = invocation
  if (
    flags.has('follow') ||
    flags.text('tail') !== undefined ||
    flags.text('bytes') !== undefined
  ) {
    throw new UsageError(`${place.path} is a directory: only files are followed.`)
  }
  const { data, headers } = await client.v1.listFiles(callAt(place))
  const isExact = flags.has('exact')
  output.show(data, () => {
    const rows = data.map((file) => [
      file.FileMode,
      file.IsDir ? '' : shownSize(file, isExact),
      file.ModTime,
      `${printableName(file.Name)}${file.IsDir ? '/' : ''}`,
    ])
    return rows.length === 0
      ? 'The directory is empty.'
      : table(['Mode', 'Size', 'Modified', 'Name'], rows)
  })
  if (headers.get(HEADERS.truncated) === 'true') {
    const { allocation, path } = place
    output.note(
      `Only ${data.length} entries are listed, and the directory has more. ` +
        `List it in the task: reeve alloc exec ${shortId(allocation.ID)} ls ${path}`,
    )
  }
}

function shownSize({ Size }: FileInfo, isExact: boolean): string {
  return isExact ? String(Size) : sizeText(Size)
}

async function writeOut(invocation: Invocation, place: Place, { Size }: FileInfo): Promise<void> {
  const { client, flags, host, output, signal } = invocation
  if (output.isForMachines) {
    throw new UsageError('--json and --template are for directories and --stat: this is a file.')
  }
  const offset = await startOf(invocation, place, Size)
  const write = taskWriter(host)
  const { params, query } = callAt(place)
  if (!flags.has('follow')) {
    const request = { params, query: { ...query, offset, limit: Size - offset }, timeoutMs: 0 }
    const { data } =
      offset === 0
        ? await client.open('readFile', { params, query, timeoutMs: 0 })
        : await client.open('readFileAt', request)
    return await copyBytes(data, write)
  }
  const frames = client.frames('streamFile', { params, query: { ...query, offset }, signal })
  await copyFrames(frames, write, (what) => output.note(what))
}

/** Where the part begins that was asked for. */
async function startOf(invocation: Invocation, place: Place, size: number): Promise<number> {
  const { client, flags } = invocation
  const bytes = flags.whole('bytes')
  if (bytes !== undefined) return Math.max(0, size - bytes)
  const lines = flags.whole('tail')
  if (lines === undefined) return 0
  const { params, query } = callAt(place)
  const tail = await lastLines(lines, async (count) => {
    const limit = Math.min(count, size)
    if (limit === 0) return new Uint8Array()
    const part = { ...query, offset: size - limit, limit }
    return (await client.v1.readFileAt({ params, query: part })).data
  })
  return size - tail.length
}

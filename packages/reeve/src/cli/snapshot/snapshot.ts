import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { SNAPSHOT_BYTES_MAX } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { pluralize } from '../plan/placement-failures.ts'
import { formatSize, renderFields, renderTable } from '../output/format.ts'
import { readFileChunks, inspectSnapshot, type SnapshotContent } from './read-snapshot.ts'

/** File mode: snapshots contain names and sources of jobs and policies in plain text. */
const FILE_MODE = 0o600

/** `operator snapshot save`: saves the cluster state. The file appears only when it is complete. */
export async function runSnapshotSave(invocation: CommandContext): Promise<number> {
  const { args, flags, host, output } = invocation
  const given = args[0] ?? ''
  const path = resolve(host.directory, given)
  if (!flags.has('force') && (await exists(path))) {
    throw new CommandError(`${given} already exists.`, { hint: 'Use --force to overwrite it.' })
  }
  const part = `${path}.part`
  try {
    await download(invocation, part)
    const content = await inspectSnapshot(readFileChunks(part), basename(path))
    const { size } = await stat(part)
    await rename(part, path)
    const holds = `${pluralize(content.Rows, 'row')}, ${pluralize(content.Blobs, 'blob')}`
    const what = `the state at index ${content.Index} (${holds}, ${formatSize(size)})`
    output.print({ File: path, ...content }, () => `Saved ${what} to ${given}.`)
  } finally {
    await rm(part, { force: true })
  }
  return EXIT_CODES.ok
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

async function download({ client, signal }: CommandContext, path: string): Promise<void> {
  const { data } = await client.open('saveSnapshot', { timeoutMs: 0, signal })
  const file = await open(path, 'w', FILE_MODE).catch((thrown: unknown) => {
    throw new CommandError(`${path} cannot be written: ${errorMessage(thrown)}.`)
  })
  try {
    for await (const chunk of data) await file.write(chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** `operator snapshot restore` without a storage: the running servers restore the snapshot. */
export async function runSnapshotRestore(invocation: CommandContext): Promise<number> {
  const { args, client, host, output, signal } = invocation
  const given = args[0] ?? ''
  const path = resolve(host.directory, given)
  const { Time, Index } = await inspectSnapshot(readFileChunks(path), given)
  const { size } = await stat(path)
  if (size > SNAPSHOT_BYTES_MAX) {
    throw new CommandError(`${given} is larger than ${formatSize(SNAPSHOT_BYTES_MAX)}.`, {
      hint: 'Stop the servers and restore it into an empty storage, with --data-dir or --database.',
    })
  }
  const state = `the state at index ${Index}, saved at ${Time}`
  await confirm(invocation, `Replace the whole state of ${client.address} by ${state}?`)
  const body = await readFile(path)
  const { data } = await client.v1.restoreSnapshot({ body, timeoutMs: 0, signal })
  output.print(data, () => {
    const what = `${pluralize(data.Rows, 'row')} of the state at index ${data.SnapshotIndex}`
    return `Restored ${what} on the running servers; the index is now ${data.Index}.`
  })
  return EXIT_CODES.ok
}

export async function runSnapshotInspect({ args, host, output }: CommandContext): Promise<number> {
  const given = args[0] ?? ''
  const content = await inspectSnapshot(readFileChunks(resolve(host.directory, given)), given)
  output.print(content, () => formatContent(content))
  return EXIT_CODES.ok
}

function formatContent({ Version, Time, Index, Rows, Blobs, Tables }: SnapshotContent): string {
  const about = renderFields([
    ['Version', String(Version)],
    ['Saved', Time],
    ['Index', String(Index)],
    ['Rows', String(Rows)],
    ['Blobs', String(Blobs)],
    ['Checksum', 'right'],
  ])
  const rows = Object.entries(Tables)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => [name, String(count)])
  return rows.length === 0 ? about : `${about}\n${renderTable(['Table', 'Rows'], rows)}`
}

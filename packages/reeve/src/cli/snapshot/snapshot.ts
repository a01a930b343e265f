import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { counted } from '../plan/metrics-text.ts'
import { sizeText } from '../output/size.ts'
import { fields, table } from '../output/table.ts'
import { fileChunks, inspectSnapshot, type SnapshotContent } from './inspect-snapshot.ts'

/** Only its owner reads it: names, sources of jobs and policies are in it as they are. */
const MODE = 0o600

/** Copies the whole state into a file, which is there only when it is whole. */
export async function runSnapshotSave(invocation: Invocation): Promise<number> {
  const { args, flags, host, output } = invocation
  const given = args[0] ?? ''
  const path = resolve(host.directory, given)
  if (!flags.has('force') && (await exists(path))) {
    throw new CommandFailure(`${given} already exists.`, { hint: 'Use --force to overwrite it.' })
  }
  const part = `${path}.part`
  try {
    await download(invocation, part)
    const content = await inspectSnapshot(fileChunks(part), basename(path))
    const { size } = await stat(part)
    await rename(part, path)
    const holds = `${counted(content.Rows, 'row')}, ${counted(content.Blobs, 'blob')}`
    const what = `the state at index ${content.Index} (${holds}, ${sizeText(size)})`
    output.show({ File: path, ...content }, () => `Saved ${what} to ${given}.`)
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

async function download({ client, signal }: Invocation, path: string): Promise<void> {
  const { data } = await client.open('saveSnapshot', { timeoutMs: 0, signal })
  const file = await open(path, 'w', MODE).catch((thrown: unknown) => {
    throw new CommandFailure(`${path} cannot be written: ${errorMessage(thrown)}.`)
  })
  try {
    for await (const chunk of data) await file.write(chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function runSnapshotInspect({ args, host, output }: Invocation): Promise<number> {
  const given = args[0] ?? ''
  const content = await inspectSnapshot(fileChunks(resolve(host.directory, given)), given)
  output.show(content, () => contentText(content))
  return EXIT_CODES.ok
}

function contentText({ Version, Time, Index, Rows, Blobs, Tables }: SnapshotContent): string {
  const about = fields([
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
  return rows.length === 0 ? about : `${about}\n${table(['Table', 'Rows'], rows)}`
}

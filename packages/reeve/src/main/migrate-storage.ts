import { EXIT_CODES, type Terminal } from '../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { copyContent, differencesOf, summarize, type ContentSummary } from '../storage/index.ts'
import { openPlace, type StoragePlace } from './storage-place.ts'

export interface MigrateRequest {
  /** `postgres://…`, or the data directory of a server. */
  readonly from: string
  readonly to: string
  readonly isJson: boolean
  readonly terminal: Terminal
}

const DIGITS_SHOWN = 16

/**
 * `reeve operator migrate-storage`: moves all state, and reads both sides again to compare them.
 */
export async function migrateStorage(request: MigrateRequest): Promise<number> {
  const { terminal, isJson } = request
  try {
    const moved = await move(request)
    if (isJson) terminal.out(`${JSON.stringify(toJson(moved))}\n`)
    else terminal.out(toText(moved))
    return EXIT_CODES.ok
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    terminal.err(`${thrown.message}\n`)
    return EXIT_CODES.failed
  }
}

interface Moved {
  readonly from: string
  readonly to: string
  readonly summary: ContentSummary
}

async function move({ from, to, isJson, terminal }: MigrateRequest): Promise<Moved> {
  const tell = (sentence: string): void => void (isJson || terminal.err(`${sentence}\n`))
  const source = await openPlace(from, 'from')
  try {
    const target = await openPlace(to, 'to')
    try {
      tell(`Copying ${source.name} to ${target.name}…`)
      await copyContent(source.engine, target.engine)
      tell('Comparing them row by row…')
      const summary = await compare(source, target)
      await target.complete()
      return { from: source.name, to: target.name, summary }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** From what both have stored: neither is believed for having been told. */
async function compare(source: StoragePlace, target: StoragePlace): Promise<ContentSummary> {
  const wanted = await summarize(await source.reopen())
  const found = await summarize(await target.reopen())
  const differences = differencesOf(wanted, found)
  if (differences.length === 0) return wanted
  throw new Fault(
    'storage-corrupt',
    `${target.name} does not hold what ${source.name} holds: ${differences.join(', ')} differ. ` +
      'The source is as it was; try again.',
  )
}

function toJson({ from, to, summary }: Moved) {
  const content = [...summary].map(([name, tally]) => ({ name, ...tally }))
  return { from, to, verified: true, content: content.toSorted(byName) }
}

function toText({ from, to, summary }: Moved): string {
  const lines = [...summary].map(([name, { count, digest }]) => ({
    name,
    line: `${name.padEnd(32)} ${String(count).padStart(10)}  ${digest.slice(0, DIGITS_SHOWN)}`,
  }))
  return [
    ...lines.toSorted(byName).map(({ line }) => line),
    '',
    `Everything in ${from} is in ${to}, compared row by row.`,
    'Start the servers on it; keep the sealing key or server.cluster_key as it was, and remove the old storage when all is well.',
    '',
  ].join('\n')
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}

import { EXIT_CODES, type TextOutput } from '../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { copyEngine, diffDigests, digestEngine, type EngineDigest } from '../storage/index.ts'
import { openOfflineStorage, type OfflineStorage } from './storage-place.ts'

export interface MigrateRequest {
  /** `postgres://…`, or the data directory of a server. */
  readonly from: string
  readonly to: string
  readonly isJson: boolean
  readonly terminal: TextOutput
}

const DIGITS_SHOWN = 16

/**
 * `reeve operator migrate-storage`: moves the whole state to another storage, then reads both and
 * compares them.
 */
export async function migrateStorage(request: MigrateRequest): Promise<number> {
  const { terminal, isJson } = request
  try {
    const moved = await migrate(request)
    if (isJson) terminal.out(`${JSON.stringify(toJson(moved))}\n`)
    else terminal.out(toText(moved))
    return EXIT_CODES.ok
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    terminal.err(`${thrown.message}\n`)
    return EXIT_CODES.failed
  }
}

interface MigrationResult {
  readonly from: string
  readonly to: string
  readonly summary: EngineDigest
}

async function migrate({ from, to, isJson, terminal }: MigrateRequest): Promise<MigrationResult> {
  const printProgress = (sentence: string): void => void (isJson || terminal.err(`${sentence}\n`))
  const source = await openOfflineStorage(from, 'from')
  try {
    const target = await openOfflineStorage(to, 'to')
    try {
      printProgress(`Copying ${source.name} to ${target.name}…`)
      await copyEngine(source.engine, target.engine)
      printProgress('Comparing them row by row…')
      const summary = await compareContents(source, target)
      await target.markComplete()
      return { from: source.name, to: target.name, summary }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Compares what both storages have stored, not what was passed to them. */
async function compareContents(
  source: OfflineStorage,
  target: OfflineStorage,
): Promise<EngineDigest> {
  const sourceSummary = await digestEngine(await source.reopen())
  const targetSummary = await digestEngine(await target.reopen())
  const differences = diffDigests(sourceSummary, targetSummary)
  if (differences.length === 0) return sourceSummary
  throw new Fault(
    'storage-corrupt',
    `${target.name} does not hold what ${source.name} holds: ${differences.join(', ')} differ. ` +
      'The source is as it was; try again.',
  )
}

function toJson({ from, to, summary }: MigrationResult) {
  const content = [...summary].map(([name, tally]) => ({ name, ...tally }))
  return { from, to, verified: true, content: content.toSorted(byName) }
}

function toText({ from, to, summary }: MigrationResult): string {
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

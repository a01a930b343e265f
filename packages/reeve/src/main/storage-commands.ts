import { cp, mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { EXIT_CODES, type TextOutput } from '../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { Store } from '../state/index.ts'
import {
  checkStorage,
  salvageStorage,
  type SalvageResult,
  copyEngine,
  diffDigests,
  digestEngine,
  type EngineDigest,
} from '../storage/index.ts'
import {
  type OfflineStorage,
  openImportDirectory,
  openOfflineStorage,
  storageDirectory,
} from './offline-storage.ts'
import { systemClock } from './system.ts'

interface StorageRequest {
  /** The data directory of a stopped server. */
  readonly dataDirectory: string
  readonly isJson: boolean
  readonly terminal: TextOutput
}

/**
 * `reeve operator storage check`: reads the whole storage without changes; exits with 1 if it is
 * damaged.
 */
export async function checkStorageCommand(request: StorageRequest): Promise<number> {
  return await reportFaults(request.terminal, async () => {
    const { dataDirectory, isJson, terminal } = request
    const directory = storageDirectory(dataDirectory)
    const checked = await checkStorage(directory)
    const { problems, notes, files, lastIndex, upTo } = checked
    if (isJson) terminal.out(`${JSON.stringify({ directory, ...checked })}\n`)
    else {
      for (const { what, isFatal } of problems)
        terminal.out(`damaged: ${what}${isFatal ? '' : ' (the checkpoint holds it)'}\n`)
      for (const note of notes) terminal.out(`note: ${note}\n`)
      const where = `${files} files of ${directory}, checkpoint ${upTo}, last index ${lastIndex}`
      terminal.out(problems.length === 0 ? `sound: ${where}\n` : `${where}\n`)
      if (problems.length > 0) terminal.err(`${checkAdvice(problems, dataDirectory)}\n`)
    }
    return problems.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  })
}

function checkAdvice(problems: readonly { readonly isFatal: boolean }[], dataDirectory: string) {
  if (!problems.some(({ isFatal }) => isFatal))
    return 'A server starts on it, without the damaged part of the event backlog. Check the disk.'
  return (
    'No server starts on it. Restore a backup, or run ' +
    `"reeve operator storage salvage --data-dir ${dataDirectory} --to NEW".`
  )
}

interface SalvageRequest extends StorageRequest {
  /** The data directory to create. */
  readonly to: string
}

/** `reeve operator storage salvage`: copies everything readable into a new data directory. */
export async function salvageStorageCommand(request: SalvageRequest): Promise<number> {
  return await reportFaults(request.terminal, async () => {
    const { dataDirectory, to, isJson, terminal } = request
    const salvaged = await salvage(dataDirectory, to)
    if (isJson) terminal.out(`${JSON.stringify({ from: dataDirectory, to, ...salvaged })}\n`)
    else {
      for (const what of salvaged.lost) terminal.out(`lost: ${what}\n`)
      terminal.out(formatSalvage(salvaged, to))
      terminal.err(
        `${dataDirectory} is unchanged. The backlog of the event stream was dropped. ` +
          'Start the server with the new directory; its node agent, if any, starts with an empty state.\n',
      )
    }
    return EXIT_CODES.ok
  })
}

function formatSalvage(
  { rows, rowsOfLog, blobs, lastIndex, lost }: SalvageResult,
  to: string,
): string {
  const from = `${rows} rows (${rowsOfLog} of them from the log) and ${blobs} blobs`
  const outcome = lost.length === 0 ? 'Nothing is lost.' : `${lost.length} losses are named above.`
  return `Salvaged ${from} up to index ${lastIndex} into ${resolve(to)}. ${outcome}\n`
}

async function salvage(dataDirectory: string, to: string): Promise<SalvageResult> {
  const place = await openImportDirectory(to)
  try {
    const salvaged = await salvageStorage(storageDirectory(dataDirectory), place.engine)
    // Loads the state as a server would, to find errors now.
    const store = await Store.open({ engine: await place.reopen(), clock: systemClock })
    await store.close()
    await place.markComplete()
    await copySecrets(join(resolve(dataDirectory), 'server'), join(resolve(to), 'server'))
    return salvaged
  } finally {
    await place.close()
  }
}

/** Copies the sealing key and the other secret files, because rows are sealed with the key. */
async function copySecrets(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true }))
    if (entry.isFile())
      await cp(join(from, entry.name), join(to, entry.name), { preserveTimestamps: true })
}

async function reportFaults(terminal: TextOutput, run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    terminal.err(`${thrown.message}\n`)
    return EXIT_CODES.failed
  }
}

interface MigrateRequest {
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

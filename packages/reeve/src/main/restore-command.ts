import { join, resolve } from 'node:path'
import type { SnapshotLine } from '@reeve/contract'
import {
  addConnectionFlags,
  CommandError,
  EXIT_CODES,
  loadSnapshotReader,
  restoreOnline,
  type CliHost,
  type CommandLine,
} from '../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { StorageEngine } from '../state/index.ts'

const COMMAND = 'reeve operator snapshot restore'

/**
 * `reeve operator snapshot restore`: on running servers, or into a storage that no server has open.
 */
export function addRestore(line: CommandLine, host: CliHost, snapshot: CommandLine['root']): void {
  const command = line
    .add(snapshot, 'restore', {
      summary: 'Restore a snapshot, on running servers or into an empty storage.',
      details:
        'Without --data-dir and --database, the running servers replace their whole state at once; ' +
        'what was written since the snapshot is lost. This requires a management token. With one ' +
        'of them, the snapshot is restored into an empty storage, before the first server starts ' +
        'on it. Secrets in a snapshot can be read only with the sealing key of the servers that it ' +
        'was saved from: copy their server/sealing-key into the data directory, or give the same ' +
        'server.cluster_key.',
      examples: [
        {
          line: 'reeve operator snapshot restore --yes monday.snapshot',
          says: 'on the running servers',
        },
        {
          line: 'reeve operator snapshot restore --data-dir /var/lib/reeve monday.snapshot',
          says: 'for a server with this data directory',
        },
        {
          line: 'REEVE_DATABASE=postgres://db/reeve reeve operator snapshot restore monday.snapshot',
          says: 'for the servers of a database',
        },
      ],
      action: async ([file = ''], flags) => {
        const directory = flags['dataDir'] ?? host.environment['REEVE_DATA_DIR']
        const database = flags['database'] ?? host.environment['REEVE_DATABASE']
        if (typeof directory === 'string' || typeof database === 'string')
          return await reportFailure(host, () =>
            restore(host, {
              file,
              directory: typeof directory === 'string' ? directory : undefined,
              database: typeof database === 'string' ? database : undefined,
            }),
          )
        return await restoreOnline(host, { args: [file], flags })
      },
    })
    .argument('<FILE>', 'a snapshot that "reeve operator snapshot save" made')
    .option('--data-dir <DIR>', 'the data directory of the server (REEVE_DATA_DIR)')
    .option('--database <URL>', 'the PostgreSQL that keeps the state (REEVE_DATABASE)')
    .option('-y, --yes', 'skip the confirmation')
    .option('--json', 'print JSON')
  addConnectionFlags(command)
}

async function reportFailure(host: CliHost, run: () => Promise<void>): Promise<number> {
  try {
    await run()
    return EXIT_CODES.ok
  } catch (thrown) {
    if (!(thrown instanceof CommandError) && !(thrown instanceof Fault)) throw thrown
    const hint = thrown instanceof CommandError ? thrown.hint : undefined
    host.err(`${COMMAND}: ${thrown.message}\n${hint === undefined ? '' : `${hint}\n`}`)
    return thrown instanceof CommandError ? thrown.code : EXIT_CODES.failed
  }
}

interface RestoreRequest {
  readonly file: string
  readonly directory: string | undefined
  readonly database: string | undefined
}

async function restore(
  host: CliHost,
  { file, directory, database }: RestoreRequest,
): Promise<void> {
  const { fileChunks, inspectSnapshot, snapshotLines } = await loadSnapshotReader()
  const path = resolve(host.directory, file)
  const { createSnapshotRowCheck } = await import('./restore-snapshot.ts')
  // The whole file is checked before anything is written: a truncated snapshot must not be
  // restored.
  const content = await inspectSnapshot(fileChunks(path), file, createSnapshotRowCheck())
  const { Index: upTo, Rows } = content
  const { restoreSnapshot } = await import('./restore-snapshot.ts')
  const { openOfflineDatabase: openDatabasePlace, openImportDirectory: openTargetDirectory } =
    await import('./offline-storage.ts')
  const data = resolve(host.directory, directory ?? '')
  const place = await (database === undefined
    ? openTargetDirectory(data)
    : openDatabasePlace(database, 'to'))
  try {
    const lines = assertUnchanged(snapshotLines(fileChunks(path), file), content.Checksum, file)
    const { engine } = place
    const reopen = (): Promise<StorageEngine> => place.reopen()
    const { index, rows } = await restoreSnapshot({ engine, reopen, lines, upTo })
    if (rows !== Rows) throw new CommandError(`Only ${rows} of ${Rows} rows were restored.`)
    await place.markComplete()
    const name = database === undefined ? data : `the database ${place.name}`
    host.out(`Restored ${rows} rows into ${name}; its index is ${index}.\n`)
  } finally {
    await place.close()
  }
  host.err(`${database === undefined ? nextStepForDirectory(data) : NEXT_STEP_FOR_DATABASE}\n`)
}

/** Fails if the file has changed since the check. */
async function* assertUnchanged(
  lines: AsyncIterable<SnapshotLine>,
  checksum: string,
  file: string,
): AsyncGenerator<SnapshotLine> {
  for await (const line of lines) {
    if ('Checksum' in line && line.Checksum !== checksum)
      throw new CommandError(`${file} was changed while it was restored.`, {
        hint: 'Nothing was restored. Run the command again.',
      })
    yield line
  }
}

/** The next steps for the operator before a server starts. */
function nextStepForDirectory(data: string): string {
  const key = join(data, 'server', 'sealing-key')
  return `Copy the sealing key of the old server to ${key}, or configure its server.cluster_key.`
}

const NEXT_STEP_FOR_DATABASE =
  'Give the servers the server.cluster_key, or the sealing key, of the old ones.'

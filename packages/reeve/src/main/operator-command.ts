import type { CommandLine, TextOutput } from '../cli/index.ts'

/** Adds the `reeve operator` commands that work directly on a storage, with the servers stopped. */
export function addOperator(
  line: CommandLine,
  terminal: TextOutput,
  operator: CommandLine['root'],
): void {
  line
    .add(operator, 'migrate-storage', {
      summary: 'Move all state from a data directory to PostgreSQL, or back.',
      details:
        'Both sides must be unused: stop the servers first. The target must be empty. Everything is ' +
        'read again from both sides and compared before servers may use the target. A password is ' +
        'better given in PGPASSWORD or a password file than on the command line.',
      examples: [
        {
          line: 'reeve operator migrate-storage --from /var/lib/reeve --to postgres://reeve@db.example/reeve',
          says: 'from a single server to a database that several servers share',
        },
        {
          line: 'reeve operator migrate-storage --from postgres://reeve@db.example/reeve --to /var/lib/reeve',
          says: 'and back',
        },
      ],
      action: async (_operands, flags) => {
        const { migrateStorage } = await import('./storage-commands.ts')
        const [from, to] = [flags['from'], flags['to']]
        return await migrateStorage({
          from: typeof from === 'string' ? from : '',
          to: typeof to === 'string' ? to : '',
          isJson: flags['json'] === true,
          terminal,
        })
      },
    })
    .requiredOption('--from <PLACE>', 'the data directory of a server, or postgres://…')
    .requiredOption('--to <PLACE>', 'the same, empty')
    .option('--json', 'answer with one JSON object')
}

/** Adds the commands for the data directory of a stopped server. */
export function addStorage(line: CommandLine, terminal: TextOutput, operator: CommandLine['root']) {
  const storage = line.add(operator, 'storage', {
    summary: 'Verify the storage of a server, or salvage a damaged one.',
    examples: [CHECK_EXAMPLE, SALVAGE_EXAMPLE],
  })
  line
    .add(storage, 'check', {
      summary: 'Verify the checksums of all stored data of a stopped server.',
      details:
        'Works while the server is stopped, and changes nothing. Exits with 1 when something is ' +
        'damaged, also when it is a part that a server can do without.',
      examples: [CHECK_EXAMPLE],
      action: async (_operands, flags) => {
        const { checkStorageCommand } = await import('./storage-commands.ts')
        return await checkStorageCommand({ ...requestOf(flags), terminal })
      },
    })
    .requiredOption('--data-dir <DIR>', 'the data directory of the server')
    .option('--json', 'answer with one JSON object')
  line
    .add(storage, 'salvage', {
      summary: 'Copy every readable row of a damaged storage to a new data directory.',
      details:
        'Works while the server is stopped. The damaged directory is left as it is. The backlog ' +
        'of the event stream is dropped; everything else that is lost is named.',
      examples: [SALVAGE_EXAMPLE],
      action: async (_operands, flags) => {
        const { salvageStorageCommand } = await import('./storage-commands.ts')
        const to = flags['to']
        const request = { ...requestOf(flags), to: typeof to === 'string' ? to : '' }
        return await salvageStorageCommand({ ...request, terminal })
      },
    })
    .requiredOption('--data-dir <DIR>', 'the data directory of the server')
    .requiredOption('--to <DIR>', 'a data directory that is to be created')
    .option('--json', 'answer with one JSON object')
}

const CHECK_EXAMPLE = {
  line: 'reeve operator storage check --data-dir /var/lib/reeve',
  says: 'find damaged data',
}
const SALVAGE_EXAMPLE = {
  line: 'reeve operator storage salvage --data-dir /var/lib/reeve --to /var/lib/reeve-new',
  says: 'copy the readable rows',
}

function requestOf(flags: Readonly<Record<string, unknown>>) {
  const directory = flags['dataDir']
  return {
    dataDirectory: typeof directory === 'string' ? directory : '',
    isJson: flags['json'] === true,
  }
}

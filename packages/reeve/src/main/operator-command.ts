import type { CommandLine, Terminal } from '../cli/index.ts'

/** `reeve operator …`: those that work on storage itself, with the servers stopped. */
export function addOperator(
  line: CommandLine,
  terminal: Terminal,
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
          says: 'from one server to a database that several can share',
        },
        {
          line: 'reeve operator migrate-storage --from postgres://reeve@db.example/reeve --to /var/lib/reeve',
          says: 'and back',
        },
      ],
      action: async (_operands, flags) => {
        const { migrateStorage } = await import('./migrate-storage.ts')
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

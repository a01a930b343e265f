import type { CommandSpec } from '../command.ts'

export const eventCommands: readonly CommandSpec[] = [
  {
    path: 'event stream',
    summary: 'Follow the changes of the system, one JSON object on each line.',
    details:
      'A connection that breaks is made again, and the stream goes on after the last index that ' +
      'was read. What the server no longer keeps is told on standard error.',
    examples: [
      { line: 'reeve event stream', says: 'all that the server keeps, then what is new' },
      { line: 'reeve event stream --topic Job:web --topic Deployment:web', says: 'of one job' },
      { line: 'reeve event stream --topic Node --index 1042', says: 'go on after a pause' },
      {
        line: `reeve event stream -t '{{ range .Events }}{{ .Type }} {{ .Key }}{{ "\\n" }}{{ end }}'`,
        says: 'only what happened to what',
      },
    ],
    flags: [
      { usage: '--topic <TOPIC[:KEY]>', help: 'only these events', isRepeated: true },
      { usage: '--index <INDEX>', help: 'begin here (default: what the server keeps)' },
      { usage: '--count <NUMBER>', help: 'end after this many lines' },
      { usage: '--heartbeats', help: 'also lines without events' },
      { usage: '--no-reconnect', help: 'end when the connection ends' },
      { usage: '-t, --template <TEXT>', help: 'each line through a template' },
    ],
    load: async () => (await import('./stream.ts')).runEventStream,
  },
]

import type { CommandSpec } from '../command.ts'

export const eventCommands: readonly CommandSpec[] = [
  {
    path: 'event stream',
    summary: 'Follow the event stream, one JSON object per line.',
    details:
      'A broken connection is re-established and the stream resumes after the last index. ' +
      'Gaps are reported on standard error.',
    examples: [
      { line: 'reeve event stream', says: 'all retained events, then new ones' },
      {
        line: 'reeve event stream --topic Job:web --topic Deployment:web',
        says: 'events of one job',
      },
      { line: 'reeve event stream --topic Node --index 1042', says: 'resume after an index' },
      {
        line: `reeve event stream -t '{{ range .Events }}{{ .Type }} {{ .Key }}{{ "\\n" }}{{ end }}'`,
        says: 'only type and key',
      },
    ],
    flags: [
      { usage: '--topic <TOPIC[:KEY]>', help: 'only events of this topic', isRepeated: true },
      {
        usage: '--index <INDEX>',
        help: 'start at this index (default: the oldest retained event)',
      },
      { usage: '--count <NUMBER>', help: 'stop after this many lines' },
      { usage: '--heartbeats', help: 'print heartbeats too' },
      { usage: '--no-reconnect', help: 'exit when the connection is lost' },
      { usage: '-t, --template <TEXT>', help: 'format each line with a Go template' },
    ],
    load: async () => (await import('./stream.ts')).runEventStream,
  },
]

import type { CommandSpec, FlagSpec } from './command.ts'

const CONNECTION_FLAGS: readonly FlagSpec[] = [
  { usage: '--address <URL>', help: 'the server to ask (REEVE_ADDR)' },
  { usage: '--token <SECRET>', help: 'the token to ask with (REEVE_TOKEN)' },
  {
    usage: '--namespace <NAME>',
    help: 'the namespace to work in (REEVE_NAMESPACE)',
    completes: 'namespace',
  },
  { usage: '--region <NAME>', help: 'the region to ask (REEVE_REGION)' },
]
const READ_FLAGS: readonly FlagSpec[] = [
  { usage: '--json', help: 'answer with JSON' },
  { usage: '-t, --template <TEXT>', help: 'answer through a template such as {{ .ID }}' },
]

/** The flags of a command, with those that all have. */
export function flagsOf({ flags = [], isRead }: CommandSpec): readonly FlagSpec[] {
  return [...flags, ...(isRead === true ? READ_FLAGS : []), ...CONNECTION_FLAGS]
}

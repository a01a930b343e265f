import type { CommandSpec, FlagSpec } from './command.ts'

/** Flags of every command: where the server is, and with which token it is called. */
export const CONNECTION_FLAGS: readonly FlagSpec[] = [
  { usage: '--address <URL>', help: 'address of the server (REEVE_ADDR)' },
  { usage: '--token <SECRET>', help: 'token of the request (REEVE_TOKEN)' },
  {
    usage: '--namespace <NAME>',
    help: 'namespace of the request (REEVE_NAMESPACE)',
    completionKind: 'namespace',
  },
  { usage: '--region <NAME>', help: 'region to forward the request to (REEVE_REGION)' },
  {
    usage: '--ca-cert <FILE>',
    help: 'CA certificate used to verify the server (REEVE_CACERT)',
  },
  { usage: '--client-cert <FILE>', help: 'client certificate (REEVE_CLIENT_CERT)' },
  {
    usage: '--client-key <FILE>',
    help: 'private key of the client certificate (REEVE_CLIENT_KEY)',
  },
  {
    usage: '--tls-server-name <NAME>',
    help: 'name to expect in the certificate of the server (REEVE_TLS_SERVER_NAME)',
  },
  {
    usage: '--tls-skip-verify',
    help: 'skip TLS verification; insecure (REEVE_SKIP_VERIFY)',
  },
]
const OUTPUT_FLAGS: readonly FlagSpec[] = [
  { usage: '--json', help: 'print JSON' },
  { usage: '-t, --template <TEXT>', help: 'format the JSON output with a Go template' },
]

/** The flags of a command that its help lists. */
export function helpFlags({ flags = [], isRead }: CommandSpec): readonly FlagSpec[] {
  return [...flags, ...(isRead === true ? OUTPUT_FLAGS : [])]
}

/** All flags of a command, including the connection flags. */
export function withGlobalFlags(spec: CommandSpec): readonly FlagSpec[] {
  return [...helpFlags(spec), ...CONNECTION_FLAGS]
}

/** `reeve options`: lists the flags of all commands. */
export function formatGlobalFlags(): string {
  const width = Math.max(...CONNECTION_FLAGS.map(({ usage }) => usage.length))
  const lines = CONNECTION_FLAGS.map(({ usage, help }) => `  ${usage.padEnd(width)}  ${help}\n`)
  return `All commands that talk to a server accept these flags:\n\n${lines.join('')}`
}

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
  {
    usage: '--ca-cert <FILE>',
    help: 'the authority that the server is believed by (REEVE_CACERT)',
  },
  { usage: '--client-cert <FILE>', help: 'a certificate to show (REEVE_CLIENT_CERT)' },
  { usage: '--client-key <FILE>', help: 'its key (REEVE_CLIENT_KEY)' },
  {
    usage: '--tls-server-name <NAME>',
    help: 'the name in the certificate of the server (REEVE_TLS_SERVER_NAME)',
  },
  {
    usage: '--tls-skip-verify',
    help: 'believe any certificate; for trying things out (REEVE_SKIP_VERIFY)',
  },
]
const READ_FLAGS: readonly FlagSpec[] = [
  { usage: '--json', help: 'answer with JSON' },
  { usage: '-t, --template <TEXT>', help: 'answer with a template of the fields --json shows' },
]

/** The flags of a command, with those that all have. */
export function flagsOf({ flags = [], isRead }: CommandSpec): readonly FlagSpec[] {
  return [...flags, ...(isRead === true ? READ_FLAGS : []), ...CONNECTION_FLAGS]
}

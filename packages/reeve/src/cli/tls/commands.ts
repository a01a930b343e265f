import type { CommandSpec, FlagSpec } from '../command.ts'

const DAYS = (byDefault: number): FlagSpec => ({
  usage: '--days <COUNT>',
  help: `how long the certificate is valid (default: ${byDefault})`,
})
const FORCE: FlagSpec = { usage: '--force', help: 'overwrite existing files' }

export const tlsCommands: readonly CommandSpec[] = [
  {
    path: 'tls ca create',
    summary: 'Create a certificate authority.',
    details:
      'Writes NAME.pem and NAME.key. The key signs all certificates of the cluster: keep it on a ' +
      'protected machine; no agent needs it.',
    examples: [
      { line: 'reeve tls ca create', says: 'reeve-ca.pem and reeve-ca.key, valid for five years' },
      { line: 'reeve tls ca create --common-name "Example CA" --days 3650 ca', says: 'ca.pem' },
    ],
    args: [{ usage: '[NAME]', help: 'path and name of the files (default: reeve-ca)' }],
    flags: [
      { usage: '--common-name <TEXT>', help: 'name of the authority (default: Reeve CA)' },
      DAYS(1_825),
      FORCE,
    ],
    load: async () => (await import('./tls.ts')).runTlsCaCreate,
  },
  {
    path: 'tls cert create',
    summary: 'Create a certificate for a server, a node or a caller.',
    details:
      'Writes NAME.pem and NAME.key. Certificates of servers name server.<region>.reeve, those of ' +
      'nodes client.<region>.reeve, as agents require (docs/how-to/tls.md).',
    examples: [
      {
        line: 'reeve tls cert create --server --dns reeve.example.com --ip 10.0.0.1',
        says: 'server-global.pem, also for an agent that is server and node',
      },
      { line: 'reeve tls cert create --node --region eu', says: 'client-eu.pem' },
      { line: 'reeve tls cert create --cli ada', says: 'for a person, with verify_https_client' },
    ],
    args: [{ usage: '[NAME]', help: 'path and name of the files (default: <role>-<region>)' }],
    flags: [
      { usage: '--server', help: 'of a server' },
      { usage: '--node', help: 'of a node' },
      { usage: '--cli', help: 'of a caller of the API' },
      { usage: '--dns <NAME>', help: 'name under which it is reached', isRepeated: true },
      { usage: '--ip <ADDRESS>', help: 'address under which it is reached', isRepeated: true },
      { usage: '--ca <FILE>', help: 'certificate of the authority (default: reeve-ca.pem)' },
      { usage: '--ca-key <FILE>', help: 'key of the authority (default: reeve-ca.key)' },
      DAYS(365),
      FORCE,
    ],
    load: async () => (await import('./tls.ts')).runTlsCertCreate,
  },
  {
    path: 'tls info',
    summary: 'Show what a certificate is for and how long it is valid.',
    details: 'Exits with 1 when it is not valid now, or was not signed by the authority of --ca.',
    examples: [
      { line: 'reeve tls info server-global.pem', says: 'names, usages, validity and role' },
      { line: 'reeve tls info --ca reeve-ca.pem server-global.pem', says: 'verify the signature' },
    ],
    args: [{ usage: '<FILE>', help: 'a certificate as PEM; "-" reads standard input' }],
    flags: [
      { usage: '--ca <FILE>', help: 'certificate of the authority that should have signed it' },
    ],
    isRead: true,
    load: async () => (await import('./tls.ts')).runTlsInfo,
  },
]

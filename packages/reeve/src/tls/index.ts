export {
  DEFAULT_CIPHER_SUITES,
  isCipherSuite,
  loadTls,
  TLS_VERSIONS,
  TlsCredentials,
  type TlsSettings,
  type TlsVersion,
} from './tls-credentials.ts'
export { peerRoles, roleProblem } from './peer-role.ts'

export { DEFAULT_CIPHER_SUITES, isCipherSuite, TLS_VERSIONS, type TlsVersion } from './ciphers.ts'
export { peerRoles, roleProblem } from './peer-role.ts'
export { loadTls, TlsCredentials, type TlsSettings } from './tls.ts'

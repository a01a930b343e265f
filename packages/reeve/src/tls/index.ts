export { peerRoles } from './peer-role.ts'
export { loadTls, Tls, type TlsSettings } from './tls.ts'

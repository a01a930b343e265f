export { peerRoles, roleName, type PeerRole } from './peer-role.ts'
export { loadTls, Tls, type TlsSettings } from './tls.ts'

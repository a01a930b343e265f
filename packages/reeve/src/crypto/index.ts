export { nodeCrypto } from './node-crypto.ts'

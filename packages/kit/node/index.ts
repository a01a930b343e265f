export { nodeCrypto } from './crypto.ts'

/** The crypto implementation for tests of pure packages, which may not import the host's. */
export { nodeCrypto } from '../node/index.ts'

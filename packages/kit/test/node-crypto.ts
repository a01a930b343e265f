/** Keys and signatures for tests of the pure folders, which cannot import the host's. */
export { nodeCrypto } from '../node/index.ts'

export { readTar } from './archives.ts'
export { unpack, UnpackBudget } from './unpack.ts'

/**
 * `node tools/build-native.mjs [--sanitize]`: builds the task helper, which the set-up does by
 * itself, and prints its path. Needed by hand after a compiler was installed later.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildNative } from './setup/native.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const target = await buildNative(root, { sanitize: process.argv.includes('--sanitize') })
if (target !== undefined) console.log(target)
process.exitCode = target === undefined ? 1 : 0

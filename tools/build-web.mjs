/** `node tools/build-web.mjs`: builds the web UI, which the set-up does by itself. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildWeb } from './setup/web.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
process.exitCode = (await buildWeb(root)) ? 0 : 1

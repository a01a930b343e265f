/** What must be in place before anything of the project runs, in order. */
const { isDone, readStamp } = require('./stamp.cjs')

/** What the web UI is made from. */
const WEB_SOURCES = [
  'packages/web/src',
  'packages/web/public',
  'packages/web/index.html',
  'packages/web/vite.config.ts',
  'packages/web/package.json',
  'packages/contract/src',
  'packages/sdk/src',
  'tools/setup/web.mjs',
]

/** @type {readonly import('./stamp.cjs').Step[]} */
const steps = [
  {
    name: 'packages',
    inputs: ['package-lock.json', 'package.json', 'packages/*/package.json'],
    isMade: async (root) => (await import('./packages.mjs')).isInstalled(root),
    run: async (root) => (await import('./packages.mjs')).installPackages(root),
  },
  {
    name: 'native',
    inputs: ['packages/reeve/native/src', 'tools/setup/native.mjs'],
    isMade: async (root) => (await import('./native.mjs')).isBuilt(root),
    run: async (root) => (await import('./native.mjs')).setUpNative(root),
  },
  {
    name: 'web',
    // The result is among them, so that its loss is noticed.
    inputs: [...WEB_SOURCES, 'packages/web/dist/index.html'],
    isMade: async (root) => (await import('./web.mjs')).isWebBuilt(root),
    run: async (root) => (await import('./web.mjs')).setUpWeb(root),
  },
]

/** What `bin/reeve` asks on every start: a few stat calls, nothing loaded, nothing hashed. */
function isSetUp(root) {
  const stamp = readStamp(root)
  return steps.every((step) => isDone(root, step, stamp))
}

module.exports = { steps, isSetUp, WEB_SOURCES }

/** Runs a program in our place: it gets our signals, and we end as it ended. */
const { spawn } = require('node:child_process')
const os = require('node:os')

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Resolves to how the program ended. Rejects when it could not be started.
 * @returns {Promise<{ code: number | null, signal: string | null }>}
 */
function runChild(command, args, { onStart = () => {}, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', ...options })
    onStart(child)
    const listeners = PASSED_ON.map((signal) => [signal, () => passOn(child, signal)])
    for (const [signal, listener] of listeners) process.on(signal, listener)
    const settle = (then) => (value, signal) => {
      for (const [name, listener] of listeners) process.off(name, listener)
      then(value, signal)
    }
    child.once('error', settle(reject))
    child.once(
      'close',
      settle((code, signal) => resolve({ code, signal })),
    )
  })
}

/**
 * A terminal sends Ctrl-C to the whole group, so the child already has it. A second one would read
 * as "stop at once" instead of "stop".
 */
function passOn(child, signal) {
  const hasTerminal = process.stdin.isTTY === true || process.stderr.isTTY === true
  if (signal === 'SIGINT' && hasTerminal) return
  child.kill(signal)
}

/** Ends this process the way the child ended, so that a shell or a supervisor sees the same. */
function endLike({ code, signal }) {
  if (signal === null) process.exit(code ?? 1)
  process.exitCode = 128 + os.constants.signals[signal]
  process.kill(process.pid, signal)
}

module.exports = { runChild, endLike }

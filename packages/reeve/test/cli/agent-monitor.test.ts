import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { until } from '../build/until.ts'

let runs = 0

/** Follows until a line matches, makes the agent log something meanwhile, then leaves. */
async function followed(line: CommandLineBench, flags: string, wanted: RegExp): Promise<string> {
  const monitor = line.start(`agent monitor ${flags}`)
  let text = ''
  let hasEnded = false
  monitor.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  monitor.stdout.once('end', () => {
    hasEnded = true
  })
  const stirring = new AbortController()
  const stir = async (): Promise<void> => {
    while (!stirring.signal.aborted) {
      runs += 1
      const name = await line.file(`job-${runs}.hcl`, aJobText({ id: `stir-${runs}` }))
      await line.ok(`job run --detach ${name}`)
    }
  }
  // Each job logs the events of its task; the first ones may come before the log is followed.
  const stirred = stir()
  try {
    const isOver = (): true | undefined => hasEnded || wanted.test(text) || undefined
    await until('the log line', isOver, undefined, () => text)
  } finally {
    stirring.abort()
    await stirred
  }
  monitor.kill('SIGINT')
  assert.equal((await monitor.ended).code, 130, text)
  assert.match(text, wanted)
  return text
}

test('agent monitor: the log of the node of an agent, below its own level', async (t) => {
  const line = await aCommandLine(t)
  const node = (await line.ok(['node', 'status', '-t', '{{ (index . 0).ID }}'])).trim()
  const people = await followed(line, `--log-level debug --node ${node.slice(0, 8)}`, /task event/)
  assert.match(people, /^\S+ DEBUG task event .*\n/m)
  const json = await followed(line, '--log-level debug --json --server leader', /task event.*\n/)
  const [first = ''] = json.split('\n')
  assert.equal(typeof JSON.parse(first).message, 'string')
})

const MISTAKES = [
  { flags: '--log-level loud', code: 2, says: /--log-level is one of debug, info, warn, error/ },
  { flags: '--node a --server b', code: 2, says: /name a node or a server, not both/ },
  { flags: '--server mars', code: 6, says: /server "mars" is unknown/ },
  { flags: '--node mars', code: 6, says: /mars/ },
]

test('agent monitor: mistakes are explained', async (t) => {
  const line = await aCommandLine(t)
  for (const { flags, code, says } of MISTAKES) {
    const ended = await line.run(`agent monitor ${flags}`)
    assert.equal(ended.code, code, flags)
    assert.match(ended.err, says)
  }
})

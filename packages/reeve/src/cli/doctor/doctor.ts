import { ApiError, ConnectionError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import type { Tone } from '../output/style.ts'
import { CHECKS } from './checks.ts'
import type { Finding } from './finding.ts'

const SIGNS: Readonly<Record<Finding['state'], readonly [tone: Tone, sign: string]>> = {
  ok: ['good', '✓'],
  warning: ['warning', '!'],
  bad: ['bad', '✗'],
}

/** `doctor`: one line for each check, and the next step under what is not right. */
export async function runDoctor(invocation: Invocation): Promise<number> {
  const { output } = invocation
  const findings: Finding[] = []
  for (const check of CHECKS) {
    const found = await attempt(check, invocation)
    // Several checks may be refused for one reason.
    const isNews = ({ what }: Finding): boolean => findings.every((told) => told.what !== what)
    findings.push(...found.findings.filter(isNews))
    if (found.isLast) break
  }
  output.show(findings, () =>
    findings
      .map(({ state, what, next }) => {
        const [tone, sign] = SIGNS[state]
        const step = next === undefined ? '' : `  ${output.paint('dim', next)}\n`
        return `${output.paint(tone, sign)} ${what}\n${step}`
      })
      .join(''),
  )
  return findings.some(({ state }) => state === 'bad') ? EXIT_CODES.failed : EXIT_CODES.ok
}

interface Attempt {
  readonly findings: readonly Finding[]
  /** Whatever comes next would fail for the same reason. */
  readonly isLast: boolean
}

async function attempt(
  check: (invocation: Invocation) => Promise<readonly Finding[]>,
  invocation: Invocation,
): Promise<Attempt> {
  try {
    return { findings: await check(invocation), isLast: false }
  } catch (thrown) {
    if (thrown instanceof ConnectionError) {
      return { findings: [unreachable(thrown, invocation)], isLast: true }
    }
    if (!(thrown instanceof ApiError)) throw thrown
    return { findings: [refused(thrown)], isLast: false }
  }
}

function unreachable(error: ConnectionError, { settings }: Invocation): Finding {
  const { address, sources } = settings
  return {
    state: 'bad',
    what: `Cannot connect to the server at ${address} (from ${sources.address}): ${error.message}`,
    next: 'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
  }
}

/** A check that this token may not make is no illness. */
function refused({ status, text, message }: ApiError): Finding {
  const said = text.trim() === '' ? message : text.trim()
  return status === 401 || status === 403
    ? { state: 'warning', what: `Not looked at: ${said}`, next: 'A management token sees more.' }
    : { state: 'bad', what: said, next: undefined }
}

import { ApiError, ConnectionError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import type { TextStyle } from '../output/style.ts'
import { CHECKS } from './checks.ts'
import type { Finding } from './finding.ts'

const STATE_SYMBOLS: Readonly<Record<Finding['state'], readonly [tone: TextStyle, sign: string]>> =
  {
    ok: ['good', '✓'],
    warning: ['warning', '!'],
    bad: ['bad', '✗'],
  }

/** `doctor`: prints one line per finding, and the next step for each problem. */
export async function runDoctor(invocation: CommandContext): Promise<number> {
  const { output } = invocation
  const findings: Finding[] = []
  for (const check of CHECKS) {
    const found = await runCheck(check, invocation)
    // Several checks may fail for the same reason, which is reported once.
    const isNews = ({ what }: Finding): boolean => findings.every((told) => told.what !== what)
    findings.push(...found.findings.filter(isNews))
    if (found.stopsChecks) break
  }
  output.print(findings, () =>
    findings
      .map(({ state, what, next }) => {
        const [tone, sign] = STATE_SYMBOLS[state]
        const step = next === undefined ? '' : `  ${output.paint('dim', next)}\n`
        return `${output.paint(tone, sign)} ${what}\n${step}`
      })
      .join(''),
  )
  return findings.some(({ state }) => state === 'bad') ? EXIT_CODES.failed : EXIT_CODES.ok
}

interface CheckResult {
  readonly findings: readonly Finding[]
  /** The remaining checks are skipped, because they would fail for the same reason. */
  readonly stopsChecks: boolean
}

async function runCheck(
  check: (invocation: CommandContext) => Promise<readonly Finding[]>,
  invocation: CommandContext,
): Promise<CheckResult> {
  try {
    return { findings: await check(invocation), stopsChecks: false }
  } catch (thrown) {
    if (thrown instanceof ConnectionError) {
      return { findings: [unreachableFinding(thrown, invocation)], stopsChecks: true }
    }
    if (!(thrown instanceof ApiError)) throw thrown
    return { findings: [rejectedFinding(thrown)], stopsChecks: false }
  }
}

function unreachableFinding(error: ConnectionError, { settings }: CommandContext): Finding {
  const { address, sources } = settings
  return {
    state: 'bad',
    what: `Cannot connect to the server at ${address} (from ${sources.address}): ${error.message}`,
    next: 'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
  }
}

/** Reports a rejected check. A missing permission is only a warning. */
function rejectedFinding({ status, text, message }: ApiError): Finding {
  const said = text.trim() === '' ? message : text.trim()
  return status === 401 || status === 403
    ? { state: 'warning', what: `Not looked at: ${said}`, next: 'A management token sees more.' }
    : { state: 'bad', what: said, next: undefined }
}

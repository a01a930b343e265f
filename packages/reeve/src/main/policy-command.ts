import type { CommandLine, CommandFlags, TextOutput } from '../cli/index.ts'
import { readVersion } from './version.ts'

const TEXTS = {
  test: {
    summary: 'Run the tests of policies.',
    details:
      'Native policies have test/<policy>/*.hcl or *.json beside them; in *.rego, rules that are ' +
      'called test_… are tests.',
    examples: [
      { line: 'reeve policy test', says: 'every test in this directory' },
      { line: 'reeve policy test policies --coverage', says: 'and list rules without coverage' },
    ],
  },
  check: {
    summary: 'Check policies for errors.',
    examples: [{ line: 'reeve policy check policies --json', says: 'as JSON' }],
  },
  eval: {
    summary: 'Evaluate policies against a document.',
    details:
      'The document is what policies of kind opa get, {"job": …} or {"plan": …, "run": …}, or the ' +
      'job or the plan by itself, as in JSON of a job or in an exported plan; anything else is an ' +
      'error. Native policies find the same in their globals and imports. Ends with 0 when all ' +
      'pass, 1 when one fails, 2 when one is undefined, 3 when one ends with an error, 9 when one ' +
      'cannot be compiled.',
    examples: [
      { line: 'reeve policy eval limits.native --input job.json', says: 'a native policy' },
      {
        line: 'reeve policy eval deny.rego --query data.jobs.deny --input job.json',
        says: 'a document of *.rego',
      },
    ],
  },
  fmt: {
    summary: 'Format policies.',
    examples: [
      { line: 'reeve policy fmt policies', says: 'format the files and list the changed ones' },
      { line: 'reeve policy fmt --check policies', says: 'list files that are not formatted' },
    ],
  },
} as const

/** Adds the `reeve policy` commands that work on local files; they send nothing. */
export function addPolicy(
  line: CommandLine,
  terminal: TextOutput,
  policy: CommandLine['root'],
): void {
  line
    .add(policy, 'test', {
      ...TEXTS.test,
      action: async (operands, flags) => {
        const { testPolicies } = await import('../policy-tools/index.ts')
        const paths = operands.length === 0 ? ['.'] : operands
        const covers = flags['coverage'] === true
        const request = {
          paths,
          only: stringFlag(flags['run']),
          withCoverage: covers,
          isJson: isJson(flags),
        }
        return await testPolicies({ ...request, ...(await evaluationContext()), terminal })
      },
    })
    .argument('[PATH...]', 'policies, or directories of them (default: this directory)')
    .option('--run <TEXT>', 'only tests whose name holds this')
    .option('--coverage', 'say which rules and statements the tests came to')
    .option('--json', 'answer with one JSON object')
  line
    .add(policy, 'check', {
      ...TEXTS.check,
      action: async (paths, flags) => {
        const { checkPolicies } = await import('../policy-tools/index.ts')
        return await checkPolicies({ paths, isJson: isJson(flags), terminal })
      },
    })
    .argument('<PATH...>', 'policies, or directories of them')
    .option('--json', 'answer with one JSON object')
  addEval(line, policy, terminal)
  line
    .add(policy, 'fmt', {
      ...TEXTS.fmt,
      action: async (paths, flags) => {
        const { formatPolicies } = await import('../policy-tools/index.ts')
        return await formatPolicies({ paths, isCheckOnly: flags['check'] === true, terminal })
      },
    })
    .argument('<PATH...>', 'policies of both languages, or directories of them')
    .option('--check', 'change nothing; end with 1 when something would change')
}

function addEval(line: CommandLine, parent: CommandLine['root'], terminal: TextOutput): void {
  line
    .add(parent, 'eval', {
      ...TEXTS.eval,
      action: async (paths, flags) => {
        const { evaluatePolicies } = await import('../policy-tools/index.ts')
        const given = flags['param']
        return await evaluatePolicies({
          paths,
          input: stringFlag(flags['input']),
          query: stringFlag(flags['query']),
          params: Array.isArray(given) ? given.filter((one) => typeof one === 'string') : [],
          isJson: isJson(flags),
          ...(await evaluationContext()),
          terminal,
        })
      },
    })
    .argument('<PATH...>', 'policies, or directories of them')
    .option('--input <FILE>', 'the document, as JSON')
    .option('--query <QUERY>', 'the query of *.rego (default: deny of the first package)')
    .option(
      '--param <NAME=VALUE>',
      'a parameter of the policies, as JSON or text; may be repeated',
      (text: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), text],
    )
    .option('--json', 'answer with one JSON object')
}

function isJson(flags: CommandFlags): boolean {
  return flags['json'] === true
}

function stringFlag(flag: unknown): string | undefined {
  return typeof flag === 'string' ? flag : undefined
}

/** Returns the evaluation environment; all policies get the same time. */
async function evaluationContext() {
  // Imported here, because cryptography is slow to load and no other command needs it.
  const { nodeCrypto } = await import('@reeve/kit/node')
  const { createTimeZoneOffset } = await import('@reeve/kit/time-zone.ts')
  const nowNs = BigInt(Date.now()) * 1_000_000n
  const zoneOffset = createTimeZoneOffset()
  const time = { nowNs, zone: 'UTC', offsetSeconds: () => 0 }
  return {
    settings: { time, version: readVersion() },
    rego: { nowNs, zoneOffset, crypto: nodeCrypto, random: () => Math.random() },
  }
}

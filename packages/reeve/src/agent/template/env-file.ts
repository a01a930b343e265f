import { failTemplate } from '@reeve/go-template'
import { AGENT_LIMITS } from '../limits.ts'

/** Parses `KEY=value` lines. Blank lines, comments, and quotes around values are removed. */
export function parseEnvFile(text: string): Readonly<Record<string, string>> {
  const charsMax = AGENT_LIMITS.interpolatedTotalCharsMax
  if (text.length > charsMax) {
    failTemplate(`an environment file has more than ${charsMax} characters, the most Linux accepts`)
  }
  const env: Record<string, string> = Object.create(null)
  let count = 0
  for (const [index, rawLine] of text.split(/\r?\n/).entries()) {
    const line = rawLine.trim().replace(/^export\s+/, '')
    if (line === '' || line.startsWith('#')) continue
    const equals = line.indexOf('=')
    const name = line.slice(0, Math.max(0, equals)).trim()
    if (!/^[^\s=\0'"]+$/.test(name)) {
      failTemplate(`line ${index + 1} of an environment file is not KEY=value`)
    }
    count += 1
    const max = AGENT_LIMITS.environmentVariablesMax
    if (count > max) failTemplate(`an environment file has more than ${max} variables`)
    env[name] = unquote(line.slice(equals + 1).trim())
  }
  return env
}

function unquote(value: string): string {
  if (/^'.*'$/s.test(value) && value.length > 1) return value.slice(1, -1)
  if (!/^".*"$/s.test(value) || value.length < 2) return value.replace(/\s+#.*$/, '')
  return value.slice(1, -1).replace(/\\([nrt"\\$])/g, (_, escaped: string) => {
    return { n: '\n', r: '\r', t: '\t' }[escaped] ?? escaped
  })
}

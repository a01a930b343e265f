import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCollector } from '../text/diagnostic.ts'
import { makeSource } from '../text/source.ts'
import { scan } from './scan.ts'

function kinds(text: string, start: 'code' | 'template' = 'code'): string {
  const tokens = scan(makeSource('f', text), start, createCollector()) ?? []
  return tokens
    .slice(0, -1)
    .map((token) => {
      const shown = text.slice(token.start, token.end).replaceAll('\n', '⏎').replaceAll('\r', '␍')
      return token.kind === shown ? shown : `${token.kind}(${shown})`
    })
    .join(' ')
}

const cases = [
  {
    name: 'names',
    text: 'a _b c-d é日 x1',
    tokens: 'identifier(a) identifier(_b) identifier(c-d) identifier(é日) identifier(x1)',
  },
  {
    name: 'a minus inside a name is part of it',
    text: 'a-1 a - 1',
    tokens: 'identifier(a-1) identifier(a) - number(1)',
  },
  {
    name: 'numbers',
    text: '0 12.5 1e3 1.5E-2 1.a',
    tokens: 'number(0) number(12.5) number(1e3) number(1.5E-2) number(1) . identifier(a)',
  },
  {
    name: 'signs, the longest first',
    text: '...=>==!=<=>=&&||::=!<>?:',
    tokens: '... => == != <= >= && || :: = ! < > ? :',
  },
  {
    name: 'line ends',
    text: 'a\nb\r\nc',
    tokens: 'identifier(a) newline(⏎) identifier(b) newline(␍⏎) identifier(c)',
  },
  {
    name: 'comments',
    text: 'a # x\nb // y\r\nc /* z\n */ d',
    tokens: 'identifier(a) newline(⏎) identifier(b) newline(␍⏎) identifier(c) identifier(d)',
  },
  { name: 'a byte order mark is skipped', text: '\uFEFFa', tokens: 'identifier(a)' },
  { name: 'a quoted string', text: '"a\\"b"', tokens: 'quote-open(") text(a\\"b) quote-close(")' },
  { name: 'an empty string', text: '""', tokens: 'quote-open(") quote-close(")' },
  {
    name: 'an interpolation',
    text: '"a${b}c"',
    tokens:
      'quote-open(") text(a) interpolation-open(${) identifier(b) sequence-close(}) text(c) quote-close(")',
  },
  {
    name: 'strip markers',
    text: '"${~ b ~}"',
    tokens: 'quote-open(") interpolation-open(${~) identifier(b) sequence-close(~}) quote-close(")',
  },
  {
    name: 'braces inside an interpolation',
    text: '"${{}}"',
    tokens: 'quote-open(") interpolation-open(${) { } sequence-close(}) quote-close(")',
  },
  {
    name: 'a string inside an interpolation',
    text: '"${"b"}"',
    tokens:
      'quote-open(") interpolation-open(${) quote-open(") text(b) quote-close(") sequence-close(}) quote-close(")',
  },
  {
    name: 'escaped sequences are text',
    text: '"$${a} %%{b}"',
    tokens: 'quote-open(") text($${a} %%{b}) quote-close(")',
  },
  {
    name: 'a heredoc, one token per line',
    text: '<<E\na\n b ${c}\n E\nd',
    tokens:
      'heredoc-open(<<E⏎) text(a⏎) text( b ) interpolation-open(${) identifier(c) sequence-close(}) text(⏎) heredoc-close( E) newline(⏎) identifier(d)',
  },
  {
    name: 'a marker behind text or an interpolation does not end a heredoc',
    text: '<<E\n${a}E\nE\n',
    tokens:
      'heredoc-open(<<E⏎) interpolation-open(${) identifier(a) sequence-close(}) text(E⏎) heredoc-close(E) newline(⏎)',
  },
  {
    name: 'a marker with a minus',
    text: '<<-A-B\nx\nA-B\n',
    tokens: 'heredoc-open(<<-A-B⏎) text(x⏎) heredoc-close(A-B) newline(⏎)',
  },
]

for (const c of cases) test(`scan: ${c.name}`, () => assert.equal(kinds(c.text), c.tokens))

test('scan: a bare template has no quotes and no escapes', () => {
  assert.equal(
    kinds('a "\\n"\n${b}', 'template'),
    'text(a "\\n"⏎) interpolation-open(${) identifier(b) sequence-close(})',
  )
})

import { StreamLanguage, type StringStream } from '@codemirror/language'

/** Highlighting of job files. The server validates them. */
const hclLanguage = StreamLanguage.define<HclState>({
  name: 'hcl',
  startState: () => ({ inComment: false, heredocEnd: undefined }),
  token: (stream, state) => nextToken(stream, state),
  languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } } },
})

const NATIVE_KEYWORDS =
  /^(?:all|and|any|as|break|case|contains|continue|default|else|filter|for|func|if|import|in|is|map|matches|not|or|param|return|rule|when|xor)\b/

/** Highlighting of policies of kind `native`. The server reports errors. */
const nativeLanguage = StreamLanguage.define<{ inComment: boolean }>({
  name: 'native',
  startState: () => ({ inComment: false }),
  token: (stream, state) => {
    if (state.inComment || stream.match('/*')) {
      state.inComment = !stream.match(/^.*?\*\//)
      if (state.inComment) stream.skipToEnd()
      return 'comment'
    }
    if (stream.eatSpace()) return null
    if (stream.match(/^(?:#|\/\/).*/)) return 'comment'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null|undefined|empty|defined)\b/)) return 'atom'
    if (stream.match(NATIVE_KEYWORDS)) return 'keyword'
    if (stream.match(/^main\b(?=\s*=)/)) return 'typeName'
    if (stream.match(/^[A-Za-z_]\w*(?=\s*=[^=])/)) return 'propertyName'
    if (stream.match(/^[A-Za-z_]\w*(?=\()/)) return 'variableName.function'
    if (stream.match(/^[A-Za-z_]\w*/)) return 'variableName'
    stream.next()
    return 'operator'
  },
  languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } } },
})

const REGO_KEYWORDS = /^(?:as|contains|default|else|every|if|import|in|not|package|some|with)\b/

/** Highlighting of policies of kind `opa`. The server reports errors. */
const regoLanguage = StreamLanguage.define<{ inRawString: boolean }>({
  name: 'rego',
  startState: () => ({ inRawString: false }),
  token: (stream, state) => {
    if (state.inRawString || stream.match('`')) {
      state.inRawString = !stream.match(/^[^`]*`/)
      if (state.inRawString) stream.skipToEnd()
      return 'string'
    }
    if (stream.eatSpace()) return null
    if (stream.match(/^#.*/)) return 'comment'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
    if (stream.match(REGO_KEYWORDS)) return 'keyword'
    if (stream.match(/^(?:input|data)\b/)) return 'typeName'
    if (stream.match(/^[A-Za-z_][\w.]*(?=\()/)) return 'variableName.function'
    if (stream.match(/^[A-Za-z_]\w*(?=\s*(?::=|contains\b|if\b))/)) return 'propertyName'
    if (stream.match(/^[A-Za-z_]\w*/)) return 'variableName'
    stream.next()
    return 'operator'
  },
  languageData: { commentTokens: { line: '#' } },
})

/** Highlighting of JSON. */
const jsonLanguage = StreamLanguage.define<null>({
  name: 'json',
  token: (stream) => {
    if (stream.eatSpace()) return null
    if (stream.match(/^"(?:[^"\\]|\\.)*"(?=\s*:)/)) return 'propertyName'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
    stream.next()
    return 'operator'
  },
})

/** Languages with highlighting. */
export const LANGUAGES = {
  hcl: hclLanguage,
  json: jsonLanguage,
  native: nativeLanguage,
  rego: regoLanguage,
  plain: undefined,
} as const satisfies Record<string, StreamLanguage<unknown> | undefined>

export type EditorLanguage = keyof typeof LANGUAGES

/** State of the tokenizer between lines: constructs that span several lines. */
interface HclState {
  inComment: boolean
  /** The identifier that ends the current heredoc. */
  heredocEnd: string | undefined
}

function nextToken(stream: StringStream, state: HclState): string | null {
  if (state.inComment) return readComment(stream, state)
  if (state.heredocEnd !== undefined) return readHeredoc(stream, state)
  if (stream.eatSpace()) return null
  if (stream.match(/^(?:#|\/\/).*/)) return 'comment'
  if (stream.match('/*')) {
    state.inComment = true
    return readComment(stream, state)
  }
  const opening = stream.match(/^<<[-~]?([A-Za-z_]\w*)/)
  if (Array.isArray(opening)) {
    state.heredocEnd = opening[1]
    return 'string'
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return isBlockLabel(stream) ? 'typeName' : 'string'
  if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
  if (stream.match(/^(?:true|false|null)\b/)) return 'atom'
  if (stream.match(/^(?:for|in|if|else|endif|endfor)\b/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*=[^=])/)) return 'propertyName'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\s*(?:"[^"]*"\s*)*\{)/)) return 'keyword'
  if (stream.match(/^[A-Za-z_][\w-]*(?=\()/)) return 'variableName.function'
  if (stream.match(/^[A-Za-z_][\w-]*/)) return 'variableName'
  stream.next()
  return 'operator'
}

/** A string before an opening brace names a block. */
function isBlockLabel(stream: StringStream): boolean {
  return stream.match(/^\s*(?:"[^"]*"\s*)*\{/, false) !== null
}

function readComment(stream: StringStream, state: HclState): string {
  if (stream.match(/^.*?\*\//)) state.inComment = false
  else stream.skipToEnd()
  return 'comment'
}

function readHeredoc(stream: StringStream, state: HclState): string {
  if (stream.sol() && stream.string.trim() === state.heredocEnd) state.heredocEnd = undefined
  stream.skipToEnd()
  return 'string'
}

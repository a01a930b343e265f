import { StreamLanguage } from '@codemirror/language'

const NATIVE_KEYWORDS =
  /^(?:all|and|any|as|break|case|contains|continue|default|else|filter|for|func|if|import|in|is|map|matches|not|or|param|return|rule|when|xor)\b/

/** Highlighting of policies of kind `native`. The server reports errors. */
export const nativeLanguage = StreamLanguage.define<{ inComment: boolean }>({
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
